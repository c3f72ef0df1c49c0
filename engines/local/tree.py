"""The processes of a Worker, found as descendants of its supervisor or keeper.

Both are "child subreapers": whatever their descendants orphan becomes their own child, so the tree
is complete even if a process left its session, its group or its parent.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from typing import NamedTuple

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Process(NamedTuple):
    """A process as /proc showed it; `born` tells it from a later one with the same number."""

    pid: int
    parent: int
    born: int


def adopt_orphans() -> None:
    """Become the parent of whatever the descendants of this process leave behind."""
    if _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def die_with_parent() -> None:
    """Be killed when the parent thread ends; lost at exec of a set-user-id program."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _read(pid: int) -> tuple[Process, bool] | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return Process(pid, int(fields[1]), int(fields[19])), fields[0] in (b"Z", b"X")


def look(pid: int) -> Process | None:
    """The living process with this number."""
    seen = _read(pid)
    return None if seen is None or seen[1] else seen[0]


def descendants(ancestor: int) -> list[Process]:
    """Every living process below `ancestor`, parents before children; zombies are left out."""
    return [process for process, dead in _family(ancestor) if not dead]


def _family(ancestor: int) -> list[tuple[Process, bool]]:
    """Every process below `ancestor`, parents before children, and whether it is a zombie."""
    children: dict[int, list[tuple[Process, bool]]] = {}
    for name in os.listdir("/proc"):
        seen = _read(int(name)) if name.isdecimal() else None
        if seen:
            children.setdefault(seen[0].parent, []).append(seen)
    found: list[tuple[Process, bool]] = []
    waiting = [ancestor]
    while waiting:
        below = children.get(waiting.pop(0), [])
        waiting.extend(process.pid for process, _ in below)
        found.extend(below)
    return found


def cpu_seconds(ancestor: int) -> float:
    """The processor time of `ancestor` and everything that is or was below it.

    Who collects a dead child inherits its time, so the sum only grows; but a program that ignores its
    children's end loses theirs, and the sum falls by that.
    """
    pids = [ancestor, *(process.pid for process, _ in _family(ancestor))]
    return sum(_ticks(pid) for pid in pids) / _TICKS_PER_S


def _ticks(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return sum(map(int, file.read().rpartition(b")")[2].split()[11:15]))
    except OSError:
        return 0


def send(process: Process, number: int) -> None:
    """Signal exactly this process, never one that got its number meanwhile."""
    try:
        fd = os.pidfd_open(process.pid)
    except OSError:
        return
    try:
        seen = _read(process.pid)
        if seen and seen[0].born == process.born:
            signal.pidfd_send_signal(fd, number)
    except OSError:
        return
    finally:
        os.close(fd)


def zombie_status(pid: int) -> int | None:
    """The wait status of a child of somebody else that has died and was not collected; None if untold.

    The kernel shows 0 to who may not look closely: at a process that was a set-user-id program, for one.
    The link to its user namespace is read by the same right.
    """
    try:
        os.readlink(f"/proc/{pid}/ns/user")
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[49])
    except OSError:
        return None


def kill_all() -> None:
    """Kill every descendant of this process and return when none is left, not even a zombie.

    "No child left" is the proof: as this process adopts orphans, no descendant could be elsewhere.
    A process that the kernel cannot end (a hung file server, say) is waited for.
    """
    pause = 0.001
    while True:
        for process in descendants(os.getpid()):
            send(process, signal.SIGKILL)
        if not reap():
            return
        time.sleep(pause)
        pause = min(pause * 2, 0.2)


def reap() -> bool:
    """Collect dead children; False when there is no child at all."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def kill_marked(marker: str) -> None:
    """Kill the processes that carry `marker` (NAME=value) in the environment they were started with.

    For the leftovers of a Worker whose supervisor and keeper were both killed, where there is no
    namespace that takes its processes along.
    """
    wanted = marker.encode()
    for name in os.listdir("/proc"):
        seen = _read(int(name)) if name.isdecimal() else None
        if not seen or seen[1] or seen[0].pid == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                carries = wanted in file.read().split(b"\0")
        except OSError:
            continue
        if carries:
            send(seen[0], signal.SIGKILL)
