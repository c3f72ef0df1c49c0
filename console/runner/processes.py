"""Child processes that cannot outlive the runner.

Each child leads a session of its own, so a Ctrl-C in the terminal reaches only the runner, and ending a child
ends what it forked as well. What made yet another session, as the supervisors of jobs do, is left alone.
"""

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class ChildSpec:
    """One program to run. `env` is its whole environment: secrets belong there, never into `argv`.

    `folder` is made, for its owner only, before each start, should somebody have deleted it. Without the file
    `serves_at` nobody reaches the program, however well it runs.
    """

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    folder: Path | None = None
    serves_at: Path | None = None


def spawn(spec: ChildSpec, log: Path) -> subprocess.Popen[bytes]:
    """Start a child whose output is appended to `log`; the kernel ends it should the runner die."""
    if spec.folder is not None:
        spec.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with log.open("ab") as output:
        return subprocess.Popen(
            spec.argv,
            env=dict(spec.env),
            cwd=spec.cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=tie_to_parent(signal.SIGTERM),
        )


def tie_to_parent(death_signal: signal.Signals) -> Callable[[], None]:
    """A function for `preexec_fn`: the child gets the signal when the thread that started it ends."""
    parent = os.getpid()

    def tie() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, death_signal)
        if os.getppid() != parent:
            os._exit(1)

    return tie


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether a child has ended. Leaves it unreaped, so that its number cannot be given to another yet."""
    if process.returncode is not None:
        return True
    flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return os.waitid(os.P_PID, process.pid, flags) is not None


def bury(process: subprocess.Popen[bytes]) -> int:
    """End what is left of an ended or hung child's group, reap the child, and return its exit code."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


def how_it_ended(returncode: int) -> str:
    """An exit code in words."""
    if returncode >= 0:
        return f"exit code {returncode}"
    try:
        return signal.Signals(-returncode).name
    except ValueError:
        return f"signal {-returncode}"
