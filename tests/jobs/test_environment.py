"""Variables: the text form, and what is injected."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jobs.environment import Rank, injected, injected_names, parse_text, to_text, worker_name
from jobs.spec import EnvVar


def pairs(text):
    variables, findings = parse_text(text)
    assert findings == []
    return [(v.name, v.value) for v in variables]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "API_KEY=xxx;DATA_DIR=/mnt/public/data;RUN_ID=exp-001",
            [("API_KEY", "xxx"), ("DATA_DIR", "/mnt/public/data"), ("RUN_ID", "exp-001")],
        ),
        ("TOKEN=YWJj==;X=a=b;E=;", [("TOKEN", "YWJj=="), ("X", "a=b"), ("E", "")]),
        ("A=1; B=2 ;", [("A", "1"), ("B", "2")]),
        ("A=1\r\nB=2\n\n", [("A", "1"), ("B", "2")]),
        ('A="x;y";B=2', [("A", "x;y"), ("B", "2")]),
        ("A='x;y'", [("A", "x;y")]),
        ('A="a\\"b\\\\c"', [("A", 'a"b\\c')]),
        ('A="two\nlines"', [("A", "two\nlines")]),
        ('A=say "hi"', [("A", 'say "hi"')]),
        ("A=it's", [("A", "it's")]),
        ('A= "x;y"', [("A", "x;y")]),
        ('A=="x";B=2', [("A", '="x"'), ("B", "2")]),
        ("", []),
        (" ; ;", []),
    ],
)
def test_text_form(text, expected):
    assert pairs(text) == expected


@pytest.mark.parametrize(
    ("text", "code", "pieces"),
    [
        ("A=1；B=2", "env_fullwidth_semicolon", ["A=1；B=2"]),
        ("=v;NOVALUE", "env_not_an_assignment", ["=v", "NOVALUE"]),
        ('A="open', "env_not_an_assignment", ['A="open']),
        ('A="x"y', "env_not_an_assignment", ['A="x"y']),
    ],
)
def test_each_bad_piece_is_named(text, code, pieces):
    _, findings = parse_text(text)
    assert [(f.code, f.data["piece"]) for f in findings] == [(code, piece) for piece in pieces]


@pytest.mark.parametrize("piece", [" '", "=' ", 'A="x\\"', ";", "A=;"])
def test_ten_times_the_text_takes_about_ten_times_as_long(piece):
    def seconds(text):
        times = []
        for _ in range(3):
            start = time.perf_counter()
            parse_text(text)
            times.append(time.perf_counter() - start)
        return min(times)

    short, long = piece * 2_000, piece * 40_000
    assert seconds(long) < 80 * seconds(short)  # in proportion 20, by the square 400


names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
values = st.text(st.characters(exclude_characters="\r\0", exclude_categories=["Cs"]), max_size=30)


@given(st.lists(st.tuples(names, values), max_size=6))
@example([("A", "x；y"), ("B", "'q' ；"), ("C", '"；')])
def test_rows_to_text_to_rows_loses_nothing(rows):
    variables = [EnvVar(name, value) for name, value in rows]
    again, findings = parse_text(to_text(variables))
    assert findings == []
    assert again == variables


@given(st.text(max_size=60))
def test_text_to_rows_to_text_is_stable(text):
    variables, _ = parse_text(text)
    assert parse_text(to_text(variables))[0] == variables


def test_ddp_variables():
    rank = Rank("jo-a", 2, 1, (4, 5), 4, "127.0.0.1", 29501)
    assert injected("pytorch_ddp", rank) == {
        "TRAINYARD_JOB_ID": "jo-a",
        "TRAINYARD_ATTEMPT": "2",
        "TRAINYARD_WORKER": "1",
        "CUDA_VISIBLE_DEVICES": "4,5",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29501",
        "WORLD_SIZE": "4",
        "RANK": "1",
    }


def test_single_gets_nothing_distributed():
    assert not {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"} & set(injected_names("single"))


def test_worker_names():
    assert worker_name("jo-x", 3) == "jo-x-worker-3"


def test_private_values_do_not_show_in_a_repr():
    assert "secret" not in repr(EnvVar("A", "secret", private=True))
