"""What a path check asks and how answers are read: tables without an engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runs.path_check.output import result_of
from runs.path_check.texts import counted_as, summary_text
from runs.path_check.values import (
    Created,
    Kind,
    Mount,
    PathAsked,
    PathSeen,
    Result,
    ScriptAsked,
    create_refused,
    merged,
    named_as_file,
    plain_path,
)

MOUNTS = (Mount("/mnt/data", read_only=False, volume=1), Mount("/mnt/lib", read_only=True, volume=2))
PATHS = (PathAsked("/mnt/data/汉/x"), PathAsked("/mnt/lib"))
SCRIPTS = (ScriptAsked("/mnt/data/a.sh"),)


@pytest.mark.parametrize(
    ("path", "plain"),
    [("/a//b/", "/a/b"), ("/a/./b", "/a/b"), ("/a/../b", "/a/../b"), ("//", "/"), ("/a\n", "/a\n")],
)
def test_plain_paths(path, plain):
    assert plain_path(path) == plain


def test_a_path_that_is_named_twice_is_looked_at_once():
    asked = [
        PathAsked("/a", ("mounts",)),
        PathAsked("/b"),
        PathAsked("/a/", ("command",)),
        PathAsked("/b", (), True),
    ]
    assert merged(asked) == (PathAsked("/a", ("mounts", "command")), PathAsked("/b", (), True))


@pytest.mark.parametrize(
    ("path", "is_refused"),
    [
        ("/mnt/data/new", False),
        ("/mnt/data", False),
        ("/mnt/database", True),
        ("/mnt/lib/new", True),
        ("/mnt/data/../lib/new", True),
        ("/tmp/new", True),
    ],
)
def test_where_folders_may_be_made(path, is_refused):
    assert bool(create_refused([path], MOUNTS)) is is_refused


def test_a_refusal_tells_which_of_the_folders_it_means():
    given = ["/mnt/data/a/", "relative", "/b/", "/mnt/lib/x"]
    assert [(f.field, f.data["path"]) for f in create_refused(given, MOUNTS)] == [
        ("create.2", "/b"),
        ("create.3", "/mnt/lib/x"),
    ]


@pytest.mark.parametrize(
    ("path", "is_file"),
    [
        ("/a/train.py", True),
        ("/a/x.tar.gz", True),
        ("/a/exp-0.1", False),
        ("/a/.cache", False),
        ("/a.b/c", False),
    ],
)
def test_names_of_files(path, is_file):
    assert named_as_file(path) is is_file


def read(text: str) -> Result | None:
    return result_of(text.encode(), PATHS, SCRIPTS, MOUNTS)


def test_an_answer():
    result = read("c 0 failed\np 0 missing --- 0 13 c\np 1 folder rwx 1 8 -\ns 0 missing - 0\n\nend\n")
    assert result is not None
    first, second = result.paths
    assert (first.kind, first.parent, first.creatable, first.created) == (
        Kind.MISSING,
        "/mnt/data/汉",
        True,
        "failed",
    )
    assert (second.readable, second.writable, second.mount) == (True, False, 1)
    assert Result.from_json(result.as_json()) == result


def test_what_has_no_line_did_not_answer():
    result = read("p 1 folder r-x 1 8 -\nend\n")
    assert result is not None
    assert [path.kind for path in result.paths] == [Kind.NO_ANSWER, Kind.FOLDER]
    assert result.scripts == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "p 0 folder rwx 0 4 -\n",
        "p 0 folder\nend\n",
        "p 0 nothing --- 0 4 -\nend\n",
        "p 0 folder rwx 7 4 -\nend\n",
        "p x folder rwx 0 4 -\nend\n",
        "s 0 read 0 5000\nshort\n",
        "c 0 perhaps\nend\n",
        "bash: something else\nend\n",
        "p 0 folder rwx 0 4 - é\nend\n",
    ],
)
def test_what_is_no_answer(text):
    assert read(text) is None


def seen(kind: Kind, rights: str = "rwx") -> PathSeen:
    return PathSeen("/x", (), kind, "r" in rights, "w" in rights, "x" in rights)


@pytest.mark.parametrize(
    ("path", "as_what"),
    [
        (seen(Kind.FOLDER), "writable"),
        (seen(Kind.FOLDER, "rw"), "unreadable"),
        (seen(Kind.FOLDER, "rx"), "read_only"),
        (seen(Kind.FILE, "rw"), "writable"),
        (seen(Kind.FILE, "w"), "unreadable"),
        (seen(Kind.BROKEN_LINK, ""), "missing"),
        (seen(Kind.HIDDEN, ""), "hidden"),
        (seen(Kind.NO_ANSWER, ""), "no_answer"),
    ],
)
def test_as_what_a_path_counts(path, as_what):
    assert counted_as(path) == as_what


@pytest.mark.parametrize(
    ("origins", "changed", "as_what"),
    [
        (["env.OUTPUT_DIR"], {}, "awaited"),
        (["env.SAVE_PATH", "env.LOG_DIR"], {}, "awaited"),
        (["env.CHECKPOINT_DIR"], {}, "awaited"),
        (["env.RESULTS"], {}, "awaited"),
        (["env.DATA_DIR"], {}, "missing"),
        (["env.OUTPUT_DIR", "env.DATA_DIR"], {}, "missing"),
        (["env.OUTPUT_DIR", "command"], {}, "missing"),
        (["command"], {}, "missing"),
        ([], {}, "missing"),
        (["env"], {}, "missing"),
        (["env.OUTPUT_DIR"], {"creatable": False}, "missing"),
        (["env.OUTPUT_DIR"], {"created": Created.FAILED}, "missing"),
        (["env.OUTPUT_DIR"], {"path": "/mnt/data/x.json"}, "missing"),
        (["env.OUTPUT_DIR"], {"kind": Kind.BROKEN_LINK}, "missing"),
    ],
)
def test_a_folder_for_results_may_not_be_there_yet(origins, changed, as_what):
    path = replace(PathSeen("/mnt/data/x", tuple(origins), Kind.MISSING, creatable=True), **changed)
    assert counted_as(path) == as_what


def test_the_line_that_tells_it_all():
    paths = [seen(Kind.FOLDER), seen(Kind.FOLDER), seen(Kind.FOLDER), seen(Kind.MISSING, "")]
    assert summary_text(paths) == "4 paths: 3 readable and writable · 1 missing"
    assert summary_text(paths[:1]) == "1 path: 1 readable and writable"
