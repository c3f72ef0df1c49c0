"""The tombstone of an attempt: that a stop was asked for, and how soon.

Where it is, nothing starts any more. It is only ever written whole, so one that cannot be read was put there
by somebody else: it counts as a stop without any grace, and nobody can hold off a stop with it.
"""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple

from engines.local import durable, layout


class Tombstone(NamedTuple):
    """Asked for at `at` (seconds since the epoch); KILL comes `grace_s` later."""

    at: float
    grace_s: float


_AT_ONCE = Tombstone(0.0, 0.0)
_FOR_EVER = 1e12


def stands(attempt_path: str) -> bool:
    """Whether there is one, readable or not."""
    return os.path.lexists(os.path.join(attempt_path, layout.STOP))


def read(attempt_path: str) -> Tombstone | None:
    """The tombstone, or None if no stop was asked for."""
    try:
        found = durable.read_json(os.path.join(attempt_path, layout.STOP))
    except durable.Unreadable:
        return _AT_ONCE
    if found is None:
        return None
    at: Any = found.get("at")
    grace_s: Any = found.get("grace_s")
    return Tombstone(float(at), float(grace_s)) if _is_time(at) and _is_time(grace_s) else _AT_ONCE


def overdue(attempt_path: str) -> float:
    """For how many seconds everything should have been gone; less than 0 if it need not be yet."""
    found = read(attempt_path)
    try:
        since = os.lstat(os.path.join(attempt_path, layout.STOP)).st_ctime
    except OSError:
        return -_FOR_EVER
    return time.time() - (since if found in (None, _AT_ONCE) else found.at + found.grace_s)


def leave(attempt_path: str, grace_s: float) -> None:
    """Ask for a stop; a later call may only make it come sooner."""
    now = time.time()
    former = read(attempt_path)
    if former is None:
        _write(attempt_path, Tombstone(now, grace_s))
    elif now + grace_s < former.at + former.grace_s:
        _write(attempt_path, Tombstone(former.at, now + grace_s - former.at))


def _is_time(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < _FOR_EVER


def _write(attempt_path: str, tombstone: Tombstone) -> None:
    durable.write_json(os.path.join(attempt_path, layout.STOP), tombstone._asdict())
