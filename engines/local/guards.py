"""Ending what guards a Worker, and its tree, where the guards do not do it themselves any more.

A supervisor and its keeper end a stopped Worker; but a job that runs without a sandbox can freeze them
(SIGSTOP). They are known by their command line, which names the rank's directory; who imitates that
asks to be killed like them.
"""

from __future__ import annotations

import os
import signal
import time

from engines.local import tree
from engines.local.launcher import PROGRAM_NAME

_WITHIN_S = 1.0


def end(rank_path: str) -> bool:
    """End the Worker of a rank and those who guard it; False if some process cannot be ended now.

    The tree goes first, as long as its guards stand: what they would adopt is found below them. While
    something of it is left they are spared, so that nobody believes the Worker gone.
    """
    until = time.monotonic() + _WITHIN_S
    while True:
        guards = _guards(rank_path)
        spared = {guard.pid for guard in guards}
        tree_left = {process for guard in guards for process in tree.descendants(guard.pid)}
        victims = [process for process in tree_left if process.pid not in spared]
        if not victims:
            break
        if time.monotonic() > until:
            return False
        for process in victims:
            tree.send(process, signal.SIGKILL)
        time.sleep(0.01)
    for process in guards:
        tree.send(process, signal.SIGKILL)
    return True


def worker_processes(rank_path: str) -> list[tree.Process]:
    """The processes of a Worker without those who guard it, parents before children."""
    guards = _guards(rank_path)
    spared = {guard.pid for guard in guards}
    found = {process.pid: process for guard in guards for process in tree.descendants(guard.pid)}
    return [process for process in found.values() if process.pid not in spared]


def _guards(rank_path: str) -> list[tree.Process]:
    found = (tree.look(int(name)) for name in os.listdir("/proc") if name.isdecimal())
    return [process for process in found if process and _guards_rank(process.pid, rank_path)]


def _guards_rank(pid: int, rank_path: str) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")[:-1]
    except OSError:
        return False
    return len(words) > 2 and words[-1] == os.fsencode(rank_path) and PROGRAM_NAME in words[-2]
