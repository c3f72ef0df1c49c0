"""A control group (version 2) for each Worker, where the machine lends some: limits of memory and processor.

Without being told where, only a place is taken that nobody has to be moved away from: the true root of the
groups for a console that runs as root, or the group above the console's own if that one was given to the
console's user (systemd: `Delegate=yes` with `DelegateSubgroup=`). A place that is named may hold processes;
they are moved into a group of their own there, as a group with processes cannot be divided.

Where there is no sandbox, a job has the console's rights and could leave its group.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator

MOUNTS = "/proc/self/mountinfo"
OWN = "/proc/self/cgroup"
PERIOD_US = 100_000
_WORKERS = "trainyard"  # the group of all Workers' groups
_CONSOLE = "trainyard-console"  # where processes go that were in a named place
_REMOVE_S = 2.0
_LEAST_CPU = 0.01
_COUNT_EVERY_S = 1.0
_CAUSE_S = 40.0  # launchers give the others 30 s when one of theirs was killed, and end then


def prepare(wanted: str) -> str:
    """The folder for Workers' groups, ready to use; "" if there can be none.

    `wanted` is auto, off, or the path of a group that was given to the console. Tried for real.
    """
    named = wanted not in ("auto", "off")
    places = [wanted] if named else list(_offered()) if wanted == "auto" else []
    for place in places:
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            _divide(place, named)
            folder = os.path.join(place, _WORKERS)
            os.makedirs(folder, exist_ok=True)
            _divide(folder, may_move=False)
            _try(folder)
            return folder
    return ""


def _offered() -> Iterator[str]:
    """Places of which nobody has to be moved."""
    mount, above = _mounted()
    own = _own()
    if not mount or own is None or ".." in own.split("/"):
        return
    if os.getuid() == 0 and not os.path.exists(os.path.join(mount, "cgroup.events")):
        yield mount  # only the true root has no such file
    inside = os.path.normpath("/" + os.path.relpath(own, above))
    if inside != "/" and ".." not in inside:
        yield os.path.dirname(mount + inside)


def _mounted() -> tuple[str, str]:
    """Where version 2 is mounted, and which group is seen there as the root."""
    with contextlib.suppress(OSError), open(MOUNTS, encoding="utf-8", errors="replace") as file:
        for line in file:
            fields = line.split()
            if "cgroup2" in fields[fields.index("-") + 1 :][:1]:
                return fields[4], fields[3]
    return "", ""


def _own() -> str | None:
    with contextlib.suppress(OSError), open(OWN, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("0::"):
                return line[3:].strip()
    return None


def _divide(group: str, may_move: bool) -> None:
    """Let groups below `group` have limits of memory, and of the processor if that can be had.

    OSError if they can have none of memory.
    """
    if "memory" not in _words(group, "cgroup.controllers"):
        raise OSError("no limits of memory here")
    if may_move and _words(group, "cgroup.procs"):
        _move_away(group)
    if "memory" not in _words(group, "cgroup.subtree_control"):
        _write(group, "cgroup.subtree_control", "+memory")
    with contextlib.suppress(OSError):
        _write(group, "cgroup.subtree_control", "+cpu")


def _move_away(group: str) -> None:
    leaf = os.path.join(group, _CONSOLE)
    os.makedirs(leaf, exist_ok=True)
    for _ in range(3):  # some may just fork
        for pid in _words(group, "cgroup.procs"):
            with contextlib.suppress(OSError):
                _write(leaf, "cgroup.procs", pid)


def _try(folder: str) -> None:
    """That a process can be put into a group with a limit; OSError or SubprocessError if not."""
    group = os.path.join(folder, f"try-{os.getpid()}")
    os.makedirs(group, exist_ok=True)
    try:
        _write(group, "memory.max", str(2**30))
        script = 'echo 0 > "$1/cgroup.procs"'
        subprocess.run(["/bin/sh", "-c", script, "sh", group], check=True, timeout=5, capture_output=True)
    finally:
        remove(group)


def path(folder: str, name: str) -> str:
    """The group of the Worker with that name (job/attempt/rank)."""
    return os.path.join(folder, name.replace("/", "."))


def make(folder: str, name: str, memory_bytes: int, cpus: float) -> str:
    """A group with these limits (0: none) for one Worker; its path. OSError if that cannot be.

    "" where no groups are lent or no limits are to be kept. One that is there already is taken.
    """
    if not folder or not (memory_bytes or cpus):
        return ""
    group = path(folder, name)
    os.makedirs(group, exist_ok=True)
    if memory_bytes:
        _write(group, "memory.max", str(memory_bytes))
        with contextlib.suppress(OSError):  # a kernel may be without
            _write(group, "memory.swap.max", "0")
    if cpus:
        with contextlib.suppress(OSError):
            _write(group, "cpu.max", f"{int(max(cpus, _LEAST_CPU) * PERIOD_US)} {PERIOD_US}")
    return group


def join(group: str) -> None:
    """Put this process, and what it starts, into the group."""
    _write(group, "cgroup.procs", "0")


class OomMeter:
    """Sees when the kernel ended processes because the group had reached its limit of memory."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._kills = self._count()
        self._at: float | None = None  # when the last was seen
        self._next = 0.0

    def check(self, clock: float) -> None:
        """Count if it is time to."""
        if self._group and clock >= self._next:
            self._next = clock + _COUNT_EVERY_S
            self._look(clock)

    def is_cause(self, clock: float, killed: bool) -> bool:
        """Whether an end just now is for want of memory: the command was killed, or a process of its was a
        moment ago. A process that was killed long ago is not why it fails otherwise now."""
        self._look(clock)
        return self._at is not None and (killed or clock - self._at <= _CAUSE_S)

    def _look(self, clock: float) -> None:
        kills = self._count()
        if kills > self._kills:
            self._kills, self._at = kills, clock

    def _count(self) -> int:
        words = _words(self._group, "memory.events") if self._group else []
        count = dict(zip(words[::2], words[1::2], strict=False)).get("oom_kill", "0")
        return int(count) if count.isdecimal() else 0


def remove(group: str) -> None:
    """The group goes once its last process is gone; what is left then goes with the machine's next start."""
    until = time.monotonic() + _REMOVE_S
    while True:
        try:
            os.rmdir(group)
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > until:
                return
            time.sleep(0.02)
        else:
            return


def _words(group: str, name: str) -> list[str]:
    try:
        with open(os.path.join(group, name), encoding="ascii", errors="replace") as file:
            return file.read().replace("+", " ").split()
    except OSError:
        return []


def _write(group: str, name: str, text: str) -> None:
    with open(os.path.join(group, name), "w", encoding="ascii") as file:
        file.write(text)
