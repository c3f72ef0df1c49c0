"""The locks install the same files everywhere: every requirement with hashes, and no host is named."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCKS = sorted(ROOT.glob("requirements*.txt"))


def requirements(text: str) -> list[str]:
    """The logical lines of a lock without its comments."""
    joined = text.replace("\\\n", " ")
    lines = [line.split(" #")[0].strip() for line in joined.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def test_every_list_has_its_lock():
    assert {lock.stem for lock in LOCKS} == {path.stem for path in ROOT.glob("requirements*.in")}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_requirement_is_pinned_and_hashed(lock):
    found = requirements(lock.read_text())
    assert found
    pinned = re.compile(r"[A-Za-z0-9._-]+(\[[^]]+\])?==[^ ]+( ;.*?)?( +--hash=sha256:[0-9a-f]{64})+")
    assert [line for line in found if not pinned.fullmatch(line)] == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_no_index_and_no_address_is_named(lock):
    text = lock.read_text()
    assert not re.search(r"://|--(extra-)?index-url|--find-links|--trusted-host|\bfile:", text)


def test_the_development_lock_holds_the_same_releases():
    def pins(name):
        return {line.split(" ")[0] for line in requirements((ROOT / name).read_text())}

    assert pins("requirements.txt") - pins("requirements-dev.txt") == set()
