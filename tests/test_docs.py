"""The documents say what is there: links lead somewhere, lists are complete, examples can be pasted."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").rglob("*.md"),
    ]
)
RECORDS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def name_of(path):
    return str(path.relative_to(ROOT))


def anchors(document):
    """Heads of a document in the form that GitHub links to, and in the help the places that are named."""
    text = FENCE.sub("", document.read_text())
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads} | set(
        re.findall(r"\{#([\w-]+)\}", text)
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(document):
    broken = []
    for link in LINK.findall(FENCE.sub("", document.read_text())):
        address, _, anchor = link.partition("#")
        if "://" in address or address.startswith(
            ("mailto:", "/")
        ):  # of the console: tests/console/test_help.py
            continue
        target = (document.parent / address).resolve() if address else document
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert not broken


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_make_targets_exist(document):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = document.read_text()
    named = set(re.findall(r"`(?:[A-Z_]+=\S+ )*make ([a-z][a-z-]*)", text))
    named |= set(re.findall(r"^    make ([a-z-]+)", text, re.MULTILINE))
    assert named <= targets


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_shell_blocks_are_shell(document):
    for block in re.findall(r"^```(?:bash|sh)\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL):
        done = subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_named_modules_exist():
    named = re.findall(
        r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|txt|md))`", (ROOT / "docs/architecture.md").read_text()
    )
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_dependencies_page_lists_what_is_required():
    required = {
        re.split(r"[\[<>=! ]", line)[0]
        for file in ROOT.glob("requirements*.in")
        for line in file.read_text().splitlines()
        if line.strip() and not line.startswith(("#", "-r"))
    }
    page = (ROOT / "docs/decisions/0002-dependencies.md").read_text()
    listed = re.findall(r"^\| (?!name \|)([A-Za-z][\w.-]*) \| \S", page, re.MULTILINE)
    assert sorted(listed) == sorted(required)


@pytest.mark.parametrize(("number", "record"), [*enumerate(RECORDS, 1)], ids=[r.stem for r in RECORDS])
def test_record_is_short_and_complete(number, record):
    text = record.read_text()
    assert text.startswith(f"# {number:04} ")
    assert record.name.startswith(f"{number:04}-")
    assert all(f"**{part}.**" in text for part in ("Context", "Decision", "Consequence"))
    assert len(text.splitlines()) <= 25 or record.stem == "0002-dependencies"


def test_readme_names_the_variables_of_the_runner():
    said = re.search(r"^run:.*\((.*)\)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert said
    table = (ROOT / "README.md").read_text()
    assert [name for name in re.findall(r"[A-Z_]{4,}", said.group(1)) if f"| `{name}` |" not in table] == []
