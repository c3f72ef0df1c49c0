"""What lies in the run directories is not believed: torn files, other things in their place, links.

Where there is no sandbox a job could put them there; a crash or a full disk could leave them too.
"""

from __future__ import annotations

import json
import os
import threading
import time

import pytest

from engines.base import AttemptKey, Phase
from engines.local import scratch
from engines.local.engine import LocalEngine
from tests.engines.stand import nap, processes, wait_until

GOOD = {"exit_code": 0, "signal": None, "stopped": False, "fault": None, "started_at": 1.0, "ended_at": 2.0}
BAD = {
    "empty": b"",
    "torn": b'{"exit_code": 0, "sig',
    "no object": b"[]",
    "too deep": b"[" * 60_000,
    "no text": b"\xff\xfe",
    "no keys": b"{}",
    "half the keys": b'{"exit_code": 0}',
    "a name for a number": json.dumps({**GOOD, "exit_code": "0"}).encode(),
    "yes for a number": json.dumps({**GOOD, "exit_code": True}).encode(),
    "no such exit code": json.dumps({**GOOD, "exit_code": 256}).encode(),
    "no such signal": json.dumps({**GOOD, "signal": 10**400}).encode(),
    "no such time": json.dumps({**GOOD, "ended_at": 1e300}).encode(),
    "not a time": json.dumps({**GOOD, "started_at": float("nan")}).encode(),
    "no answer": json.dumps({**GOOD, "stopped": None}).encode(),
    "no fault": json.dumps({**GOOD, "fault": ["code"]}).encode(),
    "half a fault": json.dumps({**GOOD, "fault": {"code": 1, "data": {}}}).encode(),
    "a list in a fault": json.dumps({**GOOD, "fault": {"code": "x", "data": []}}).encode(),
}
PLANTS = {
    "directory": os.mkdir,
    "link": lambda path: os.symlink("/etc/passwd", path),
    "link to nothing": lambda path: os.symlink("/nothing", path),
    "pipe": os.mkfifo,
}


def started(runs, number: int):
    """The Worker's directory of an attempt that was started by a supervisor that is gone."""
    key = AttemptKey(f"jo-{number:016d}", 1)
    place = runs / key.job / "1" / "0"
    place.mkdir(parents=True)
    (place.parent / "launch.json").write_text("{}")
    (place / "started").write_text('{"at": 5.0}')
    return key, place


def is_lost(engine, key, unreadable: str) -> bool:
    (look,) = engine.look([key])[key]
    return (look.phase, look.fault.data) == (Phase.LOST, {"unreadable": unreadable})


@pytest.mark.parametrize("content", BAD.values(), ids=BAD.keys())
def test_an_end_that_cannot_be_read(tmp_path, content):
    engine = LocalEngine(tmp_path, "none")
    key, place = started(tmp_path, 1)
    (place / "exit.json").write_bytes(content)
    assert is_lost(engine, key, "exit.json")
    assert engine.look([key])[key][0].started_at == 5.0
    assert engine.read_log(key, 0, 0, 10).complete


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS.keys())
@pytest.mark.parametrize("name", ["exit.json", "started", "lock", "step", "log", "cut"])
def test_something_else_in_the_place_of_a_file(tmp_path, name, plant):
    engine = LocalEngine(tmp_path, "none")
    key, place = started(tmp_path, 1)
    (place / name).unlink(missing_ok=True)
    plant(place / name)
    (look,) = engine.look([key])[key]
    assert look.phase is Phase.LOST
    assert engine.read_log(key, 0, 0, 10).data == b""


def test_one_bad_attempt_among_many(tmp_path):
    engine = LocalEngine(tmp_path, "none")
    places = [started(tmp_path, number) for number in range(100)]
    for _, place in places:
        (place / "exit.json").write_text(json.dumps(GOOD))
    (places[41][1] / "exit.json").write_text("{")
    strange = AttemptKey("../etc", 1)
    looks = engine.look([strange, *(key for key, _ in places)])
    assert looks.pop(strange) == ()
    phases = [looks[key][0].phase for key, _ in places]
    assert phases == [Phase.LOST if number == 41 else Phase.EXITED for number in range(100)]


@pytest.mark.parametrize("level", ["job", "attempt", "rank"])
def test_links_in_place_of_directories_are_not_followed(tmp_path, level):
    """None of the calls touches what the link leads to."""
    runs, elsewhere = tmp_path / "runs", tmp_path / "elsewhere"
    engine = LocalEngine(runs, "none")
    key, place = started(elsewhere, 1)
    (place / "exit.json").write_text(json.dumps(GOOD))
    (place / "log").write_text("secret")
    (place / "scratch.1").mkdir()
    theirs = {"job": place.parent.parent, "attempt": place.parent, "rank": place}[level]
    ours = runs / theirs.relative_to(elsewhere)
    ours.parent.mkdir(parents=True)
    ours.symlink_to(theirs)
    (ours.parent / "launch.json").write_text("{}")
    before = sorted(elsewhere.rglob("*"))
    assert [look.phase for look in engine.look([key])[key]] == [Phase.LOST]
    assert engine.read_log(key, 0, 0, 10).data == b""
    engine.stop(key, 0)
    engine.forget(key)
    assert sorted(elsewhere.rglob("*")) == before
    assert engine.look([key]) == {key: ()}


def test_an_end_that_is_told_by_somebody_else_is_no_end(bare):
    """As long as the supervisor lives."""
    key = bare.start("echo up; sleep 60")
    bare.running(key, "up")
    (bare.runs / key.job / "1" / "0" / "exit.json").write_text("{")
    assert bare.look(key).phase is Phase.RUNNING
    bare.engine.stop(key, 0)
    wait_until(lambda: bare.look(key).phase is Phase.EXITED, "its true end")
    assert bare.look(key).stopped


@pytest.mark.parametrize(
    "plant", [*PLANTS.values(), lambda path: path.write_text("{")], ids=[*PLANTS, "torn"]
)
def test_a_planted_tombstone_stops(bare, plant):
    """It cannot hold off a stop, nor bring the supervisor down."""
    mine = nap()
    key = bare.start(f"trap '' TERM; echo up; sleep {mine}")
    bare.running(key, "up")
    plant(bare.runs / key.job / "1" / "stop")
    bare.engine.stop(key, 60)
    assert bare.end(key).stopped
    assert bare.look(key).phase is Phase.EXITED
    assert not processes("sleep", mine)


def test_stop_of_a_lost_worker_returns_at_once(tmp_path, monkeypatch):
    """However much it has left on the disk: that is only hidden, and deleted beside."""
    engine = LocalEngine(tmp_path, "none")
    key, place = started(tmp_path, 1)
    (place / "scratch.1" / "deep").mkdir(parents=True)
    remove, may_go_on = scratch.remove, threading.Event()
    monkeypatch.setattr(scratch, "remove", lambda path: may_go_on.wait(20) and remove(path))
    before = time.monotonic()
    engine.stop(key, 0)
    engine.stop(key, 0)
    assert time.monotonic() - before < 10
    assert [path.name for path in place.glob("scratch.*")] == ["scratch.1.gone"]
    may_go_on.set()
    wait_until(lambda: not list(place.glob("scratch.*")), "no layer left", 5)
    engine.forget(key)
    assert not place.exists()
