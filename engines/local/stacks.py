"""Where the Python processes of a Worker are: their threads' stacks, read from outside by py-spy.

Neither arguments nor variables nor values of local variables are read: only where it is. A process is
held for some milliseconds while its stacks are copied; where it may not be held, it is read as it runs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from engines.base import Fault, Frame, PythonProcess, Thread, WorkerStacks
from engines.local import guards, tree

MOST_PROCESSES = 32
MOST_THREADS = 64
MOST_FRAMES = 64
MOST_WORD = 200
_MOST_BYTES = 2**23
_ONE_S = 5.0
_OF_PROOT = "prooted-"  # its loader, which hides the program from py-spy
_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")


def program() -> str | None:
    """py-spy of this environment, else the system's."""
    ours = os.path.join(sysconfig.get_path("scripts"), "py-spy")
    return ours if os.access(ours, os.X_OK) else shutil.which("py-spy")


def of_worker(rank_path: str, until: float) -> WorkerStacks:
    """The stacks of one Worker's Python processes; nothing is begun after `until` (monotonic)."""
    rank = int(os.path.basename(rank_path))
    spy = program()
    if spy is None:
        return WorkerStacks(rank, trouble=Fault("not_installed"))
    alive = guards.worker_processes(rank_path)
    found = [process for process in alive if _is_python(process.pid)]
    if not found:
        traced = any(_program(process.pid).startswith(_OF_PROOT) for process in alive)
        return WorkerStacks(rank, trouble=Fault("proot" if traced else "no_python"))
    read = tuple(_read(spy, process, until) for process in found[:MOST_PROCESSES])
    return WorkerStacks(rank, read, more_processes=max(0, len(found) - MOST_PROCESSES))


def _is_python(pid: int) -> bool:
    """By the program's name, or by Python's library in it."""
    if _program(pid).startswith("python"):
        return True
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            return b"/libpython" in file.read(2**20)
    except OSError:
        return False


def _read(spy: str, process: tree.Process, until: float) -> PythonProcess:
    named = PythonProcess(_pid_inside(process.pid), _title(process.pid))
    running = _running(process.pid)  # before it is held
    told, trouble = _dump(spy, process.pid, until, [])
    if trouble and trouble.code == "denied":
        told, trouble = _dump(spy, process.pid, until, ["--nonblocking"])
    now = tree.look(process.pid)
    if now is None or now.born != process.born:
        told, trouble = None, Fault("gone")
    if trouble or told is None:
        return PythonProcess(named.pid, named.program, trouble=trouble)
    threads = tuple(_thread(one, running) for one in told[:MOST_THREADS])
    return PythonProcess(named.pid, named.program, threads, max(0, len(told) - MOST_THREADS))


def _dump(spy: str, pid: int, until: float, how: list[str]) -> tuple[list[Any] | None, Fault | None]:
    """What py-spy tells of the process, or why it does not."""
    left = min(_ONE_S, until - time.monotonic())
    if left <= 0:
        return None, Fault("too_slow")
    command = [spy, "dump", "--json", "--pid", str(pid), *how]
    with tempfile.TemporaryFile() as output:
        try:
            run = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE,
                timeout=left, env={}, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None, Fault("too_slow")
        except OSError:
            return None, Fault("not_installed")
        output.seek(0)
        said = output.read(_MOST_BYTES)
    if run.returncode:
        return None, _fault(run.stderr.decode("utf-8", "replace"))
    try:
        told = json.loads(said)
    except (ValueError, RecursionError):
        return None, Fault("unreadable")
    return (told, None) if isinstance(told, list) else (None, Fault("unreadable"))


def _fault(said: str) -> Fault:
    """py-spy has no codes. What it says may name folders of the machine, so only the kind is told."""
    text = said.lower()
    if "permission denied" in text or "operation not permitted" in text:
        return Fault("denied")
    if "no such process" in text or "no such file" in text:
        return Fault("gone")
    return Fault("unreadable")


def _running(pid: int) -> set[int]:
    """The threads that compute or wait for a processor to, by their number inside the Worker.

    py-spy looks for that by the same number outside, where it is another thread's.
    """
    found = set()
    for tid in _names(f"/proc/{pid}/task"):
        fields = _status(f"{pid}/task/{tid}")
        if fields.get("State", "").startswith("R"):
            found.add(_last_number(fields.get("NSpid", ""), int(tid)))
    return found


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _status(place: str) -> dict[str, str]:
    try:
        with open(f"/proc/{place}/status", encoding="utf-8", errors="replace") as file:
            return {name: rest.strip() for name, _, rest in (line.partition(":") for line in file)}
    except OSError:
        return {}


def _last_number(words: str, otherwise: int) -> int:
    return int((words.split() or [str(otherwise)])[-1])


def _thread(told: dict[str, Any], running: set[int]) -> Thread:
    frames = told.get("frames") or []
    shown = tuple(
        Frame(_cut(one.get("name")), _cut(one.get("filename")), int(one.get("line") or 0))
        for one in frames[:MOST_FRAMES]
    )
    ident = int(told.get("os_thread_id") or 0)
    more = max(0, len(frames) - MOST_FRAMES)
    return Thread(_cut(told.get("thread_name")), ident, ident in running, shown, more)


def _cut(text: Any) -> str:
    """At most so many letters of the end, and none that a database cannot keep."""
    plain = str(text or "").replace("\0", "�").encode("utf-8", "replace").decode()
    return plain if len(plain) <= MOST_WORD else "…" + plain[-MOST_WORD:]


def _pid_inside(pid: int) -> int:
    return _last_number(_status(str(pid)).get("NSpid", ""), pid)


def _title(pid: int) -> str:
    """The program and its script by their names. Arguments are left out: they may hold private values."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = [os.fsdecode(word) for word in file.read(2**16).split(b"\0")[1:]]
    except OSError:
        return ""
    return _cut(" ".join([_program(pid), *_script(iter(words))]))


def _program(pid: int) -> str:
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")).removesuffix(" (deleted)")
    except OSError:
        return ""


def _script(words: Iterator[str]) -> list[str]:
    """The script, module or `-c` among the words after the program."""
    for word in words:
        if word in _WITH_VALUE:
            next(words, None)
        elif word == "-m":
            return ["-m", os.path.basename(next(words, ""))]
        elif word in ("-c", "-") or not word:
            return [word] if word else []
        elif not word.startswith("-"):
            return [os.path.basename(word)]
    return []
