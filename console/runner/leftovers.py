"""Ends what a killed run left behind, before a new one starts.

Children of a killed runner get TERM from the kernel, but may still be finishing their work, and their own
children may have lost their parent. They are known by their session, which the runner writes down, and by a
variable in their environment. A job's supervisor has a session of its own and goes on.
"""

import json
import os
from pathlib import Path

import psutil

MARK = "TRAINYARD_RUNNER"
_PATIENCE = 5.0


def remember(data_dir: Path, sessions: list[int]) -> None:
    """Write down the sessions that this run has started."""
    draft = data_dir / ".run.sessions.new"
    draft.write_text(json.dumps(sessions))
    draft.replace(data_dir / "run.sessions")


def end_leftovers(data_dir: Path) -> int:
    """End the processes of earlier runs of this DATA_DIR, and return how many there were."""
    sessions = _remembered(data_dir)
    left = [process for process in psutil.process_iter() if _belongs(process, data_dir, sessions)]
    for process in left:
        _signal(process, kill=False)
    _, alive = psutil.wait_procs(left, timeout=_PATIENCE)
    for process in alive:
        _signal(process, kill=True)
    psutil.wait_procs(alive, timeout=_PATIENCE)
    return len(left)


def _remembered(data_dir: Path) -> set[int]:
    try:
        return set(json.loads((data_dir / "run.sessions").read_text()))
    except (FileNotFoundError, ValueError):
        return set()


def _belongs(process: psutil.Process, data_dir: Path, sessions: set[int]) -> bool:
    try:
        if os.getsid(process.pid) not in sessions:
            return False
        return bool(process.environ().get(MARK) == str(data_dir))
    except (OSError, psutil.Error):
        return False


def _signal(process: psutil.Process, *, kill: bool) -> None:
    try:
        if kill:
            process.kill()
        else:
            process.terminate()
    except psutil.NoSuchProcess:
        return
