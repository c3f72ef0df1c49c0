"""The virtual environment is made anew where it was renamed, and nowhere else."""

from __future__ import annotations

import pytest

from tools import prepare


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A made environment; `.venv` of this checkout is where a test says."""
    made = tmp_path / "one" / ".venv"
    made.mkdir(parents=True)
    monkeypatch.setattr(prepare, "VENV", str(made))
    (made / ".place").write_text(prepare.place())
    return made


def test_it_stays_where_it_is(folder):
    assert not prepare.moved()


def test_a_renamed_one_is_made_anew(folder, tmp_path, monkeypatch):
    folder.parent.rename(tmp_path / "two")
    monkeypatch.setattr(prepare, "VENV", str(tmp_path / "two" / ".venv"))
    assert prepare.moved()


def test_a_link_to_one_that_is_shared_is_not_cleared(folder, tmp_path, monkeypatch):
    (tmp_path / "checkout").mkdir()
    link = tmp_path / "checkout" / ".venv"
    link.symlink_to(folder)
    monkeypatch.setattr(prepare, "VENV", str(link))
    assert not prepare.moved()


def test_one_of_which_nothing_is_known_stays(folder):
    (folder / ".place").unlink()
    assert not prepare.moved()
