"""Looking at Workers: from files alone, without any lock, and whatever lies there.

A supervisor locks, then writes `started`, then `exit.json`, then lets go; the files are read in an order
that bears this happening meanwhile. Files are only ever written whole, so one that cannot be read was not
written by a supervisor: while that lives it tells nothing, afterwards nobody knows how the Worker ended.
"""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from typing import Any

from engines.base import Fault, Phase, WorkerLook
from engines.local import checking, durable, layout, load, lock, steps, tombstone

_LATEST = 253_402_300_799  # the last second of the year 9999
_SIGNALS = 64


def look_at_attempt(root: str, attempt_path: str) -> tuple[WorkerLook, ...]:
    """Every Worker in rank order; none of an attempt that was never started."""
    if layout.obstacle(root, attempt_path):
        return (_lost(0, os.path.basename(attempt_path)),)
    if not os.path.lexists(os.path.join(attempt_path, layout.LAUNCH)):
        return ()
    stopped = tombstone.stands(attempt_path)
    return tuple(look_at_worker(root, path, stopped) for path in layout.rank_paths(attempt_path))


def look_at_worker(root: str, path: str, stopped: bool = False) -> WorkerLook:
    """One Worker; `stopped` is what is told of one that has not ended."""
    rank = int(os.path.basename(path))
    if layout.obstacle(root, path):
        return _lost(rank, str(rank))
    end = _read_end(path, rank)
    if end and end.phase is Phase.EXITED:
        return end
    started, started_at, begun = _read_start(path)
    lives = lock.is_held(os.path.join(path, layout.LOCK))
    end = _read_end(path, rank)
    if end and (end.phase is Phase.EXITED or not lives):
        return replace(end, stopped=end.stopped or stopped, started_at=end.started_at or started_at)
    if lives and started:
        look = WorkerLook(rank, Phase.RUNNING, stopped=stopped, started_at=started_at, steps=begun)
        return replace(look, output_at=_output_at(path, started_at), busy_at=load.busy_at(path))
    if lives:
        begun = steps.read(path)
        step = begun[-1][0] if begun else ""
        check = checking.read(path) if step == "env_check" else None
        return WorkerLook(rank, Phase.STARTING, step, stopped=stopped, steps=begun, check=check)
    if started:
        return replace(_lost(rank), stopped=stopped, started_at=started_at)
    return WorkerLook(rank, Phase.ABSENT, stopped=stopped)


def _lost(rank: int, unreadable: str = "") -> WorkerLook:
    data = {"unreadable": unreadable} if unreadable else {}
    return WorkerLook(rank, Phase.LOST, fault=Fault("supervisor_lost", data))


def _read_end(path: str, rank: int) -> WorkerLook | None:
    """How it ended: EXITED, LOST if that cannot be read, None if nothing is told."""
    try:
        end = durable.read_json(os.path.join(path, layout.EXIT))
        return _exited(rank, end) if end is not None else None
    except (durable.Unreadable, KeyError, TypeError, ValueError):
        return _lost(rank, layout.EXIT)


def _exited(rank: int, end: dict[str, Any]) -> WorkerLook:
    """KeyError, TypeError or ValueError for a document that no supervisor writes."""
    if not isinstance(end["stopped"], bool):
        raise TypeError(end["stopped"])
    return WorkerLook(
        rank,
        Phase.EXITED,
        exit_code=_number(end["exit_code"], 0, 255),
        signal=_number(end["signal"], 1, _SIGNALS),
        stopped=end["stopped"],
        fault=_fault(end["fault"]),
        started_at=_time(end["started_at"]),
        ended_at=_time(end["ended_at"]),
        steps=steps.proper(end.get("steps")),
    )


def _number(value: Any, least: int, most: int) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not least <= value <= most:
        raise ValueError(value)
    return value


def _time(value: Any) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float) or not 0 <= value <= _LATEST:
        raise ValueError(value)
    return float(value)


def _fault(value: Any) -> Fault | None:
    if value is None:
        return None
    code, data = value["code"], value["data"]
    if not isinstance(code, str) or not isinstance(data, dict):
        raise TypeError(value)
    if not all(type(item) in (str, int) for item in data.values()):
        raise TypeError(value)
    return Fault(code, data)


def _read_start(path: str) -> tuple[bool, float | None, tuple[tuple[str, float], ...]]:
    """(whether the command was run, when, the steps before): the first alone if the rest cannot be read."""
    try:
        started = durable.read_json(os.path.join(path, layout.STARTED))
        if started is None:
            return False, None, ()
        return True, _time(started["at"]), steps.proper(started.get("steps"))
    except (durable.Unreadable, KeyError, ValueError):
        return True, None, ()


def _output_at(path: str, started_at: float | None) -> float | None:
    """When the log was last written to, or what came was counted as thrown away because it is full."""
    times = [] if started_at is None else [started_at]
    for name in (layout.LOG, layout.CUT):
        try:
            seen = os.lstat(os.path.join(path, name))
        except OSError:
            continue
        if stat.S_ISREG(seen.st_mode):
            times.append(seen.st_mtime)
    return max(times, default=None)
