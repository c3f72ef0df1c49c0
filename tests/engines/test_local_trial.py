"""One trial of the sandbox is enough for all processes that only want to tell what it gave."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engines.base import Protection
from engines.local import sandbox, trial
from engines.local.engine import LocalEngine, Means
from engines.local.sandbox import Choice


@pytest.fixture
def trials(monkeypatch):
    """The settings that were tried; the outcome is proot."""
    seen = []

    def choose(wanted, bwrap=None):
        seen.append((wanted, bwrap))
        return Choice("proot", "/usr/bin/proot", "bubblewrap: no")

    monkeypatch.setattr(sandbox, "choose", choose)
    return seen


def test_a_second_process_reads_what_the_first_found(tmp_path, trials):
    told = LocalEngine(tmp_path / "runs").protection()
    assert told == Protection("proot", "bubblewrap: no")
    note = tmp_path / "runs" / "protection.json"
    assert note.stat().st_mode & 0o777 == 0o600
    assert LocalEngine(tmp_path / "runs").protection() == told
    assert len(trials) == 1


@pytest.mark.parametrize("change", ["setting", "program", "boot", "user"])
def test_other_circumstances_are_tried_anew(tmp_path, trials, monkeypatch, change):
    LocalEngine(tmp_path).protection()
    if change == "boot":
        (tmp_path / "boot").write_text("another")
        monkeypatch.setattr(trial, "_BOOT", str(tmp_path / "boot"))
    if change == "user":
        monkeypatch.setattr("os.getuid", lambda: 4711)
    settings = {"setting": {"sandbox": "proot"}, "program": {"means": Means(bwrap=Path("/opt/bwrap"))}}.get(
        change, {}
    )
    LocalEngine(tmp_path, **settings).protection()
    assert len(trials) == 2


@pytest.mark.parametrize("found", [None, "x", ["proot"], ["docker", "", ""], ["proot", 1, ""]])
def test_a_note_that_nobody_would_write_is_not_believed(tmp_path, trials, found):
    LocalEngine(tmp_path).protection()
    note = json.loads((tmp_path / "protection.json").read_text())
    (tmp_path / "protection.json").write_text(json.dumps({**note, "found": found}))
    LocalEngine(tmp_path).protection()
    (tmp_path / "protection.json").write_text("{")
    LocalEngine(tmp_path).protection()
    assert len(trials) == 3


@pytest.mark.parametrize(("mode", "trials_needed"), [("bubblewrap", 1), ("proot", 2)])
def test_less_than_bubblewrap_is_soon_tried_again(tmp_path, trials, monkeypatch, mode, trials_needed):
    monkeypatch.setattr(sandbox, "choose", lambda *_: trials.append(mode) or Choice(mode, "/usr/bin/x", ""))
    LocalEngine(tmp_path).protection()
    note = json.loads((tmp_path / "protection.json").read_text())
    (tmp_path / "protection.json").write_text(json.dumps({**note, "at": note["at"] - 100}))
    engine = LocalEngine(tmp_path)
    assert engine.protection() == engine.protection() == Protection(mode)
    assert len(trials) == trials_needed


def test_where_nothing_can_be_written_each_tries_once(tmp_path, trials):
    engine = LocalEngine(tmp_path / "missing" / "runs")
    assert engine.protection() == engine.protection()
    assert len(trials) == 1
    assert not (tmp_path / "missing").exists()


def test_a_start_does_not_trust_the_note(boxed):
    other = LocalEngine(boxed.runs, "bubblewrap")
    path = boxed.runs / "protection.json"
    other.protection()
    note = json.loads(path.read_text())
    path.write_text(json.dumps({**note, "found": ["", "", "bubblewrap: no", ""]}))
    assert boxed.engine.protection().mode == "unavailable"
    assert boxed.run("true").exit_code == 0
    assert LocalEngine(boxed.runs, "bubblewrap").protection().safe
