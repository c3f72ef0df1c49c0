"""Ends what a killed run left behind, before a new one starts.

Children of a killed runner get TERM from the kernel, but may still be finishing their work, and their own
children may have lost their parent. They are known by their session, which the runner writes down, and by a
variable in their environment. A job's supervisor has a session of its own and goes on.
"""

import contextlib
import json
import os
import signal
import time
from pathlib import Path

MARK = "TRAINYARD_RUNNER"
_PATIENCE = 5.0


def remember(data_dir: Path, sessions: list[int]) -> None:
    """Write down the sessions that this run has started."""
    draft = data_dir / ".run.sessions.new"
    draft.write_text(json.dumps(sessions))
    draft.replace(data_dir / "run.sessions")


def end_leftovers(data_dir: Path) -> int:
    """End the processes of earlier runs of this DATA_DIR, and return how many there were."""
    left = _find(data_dir)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in _find(data_dir):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + _PATIENCE
        while _find(data_dir) and time.monotonic() < deadline:
            time.sleep(0.05)
    return len(left)


def _find(data_dir: Path) -> list[int]:
    sessions = _remembered(data_dir)
    mark = os.fsencode(f"{MARK}={data_dir}")
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if _belongs(entry, sessions, mark)]


def _belongs(entry: Path, sessions: set[int], mark: bytes) -> bool:
    """Whether a process in /proc is of an earlier run; a zombie has no environment, so it does not count."""
    try:
        return os.getsid(int(entry.name)) in sessions and mark in (entry / "environ").read_bytes().split(
            b"\0"
        )
    except OSError:
        return False


def _remembered(data_dir: Path) -> set[int]:
    try:
        return set(json.loads((data_dir / "run.sessions").read_text()))
    except (FileNotFoundError, ValueError):
        return set()
