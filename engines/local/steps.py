"""The deploy steps of a Worker, in the file `step`: a line for each, with the second in which it began."""

from __future__ import annotations

import os
import time
from typing import Any

from engines.local import durable, layout

STEPS = ("storage", "initialize", "pull_image", "env_check")
_LATEST = 253_402_300_799  # the last second of the year 9999


def clear(rank_path: str) -> None:
    """Nothing was begun yet: what another supervisor noted does not count."""
    durable.overwrite(os.path.join(rank_path, layout.STEP), b"")


def note(rank_path: str, step: str) -> None:
    """The step begins now."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(os.path.join(rank_path, layout.STEP), flags, 0o600)
    try:
        durable.write_all(fd, f"{step} {time.time():.3f}\n".encode())
    finally:
        os.close(fd)


def read(rank_path: str) -> tuple[tuple[str, float], ...]:
    """The steps so far; what no supervisor writes is left out."""
    try:
        found = durable.read_file(os.path.join(rank_path, layout.STEP)) or b""
    except durable.Unreadable:
        return ()
    return proper([line.split() for line in found.decode("ascii", "replace").splitlines()])


def proper(steps: Any) -> tuple[tuple[str, float], ...]:
    """Those of the pairs that are steps with their times."""
    found = []
    for pair in steps if isinstance(steps, list) else ():
        try:
            name, at = pair
            begun = float(at)
        except (TypeError, ValueError):
            continue
        if name in STEPS and 0 <= begun <= _LATEST:
            found.append((name, begun))
    return tuple(found)
