"""Stand-in children: small real processes, so that the runner is tested without the console."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from console.runner.processes import ChildSpec
from console.runner.supervisor import Backoff, Supervisor


def wait_for(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until the condition holds; fails the test if it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def number_in(path: Path) -> int:
    """The process number that a stand-in has written into a file."""
    wait_for(lambda: path.exists() and path.read_text().strip())
    return int(path.read_text())


@pytest.fixture
def shell(tmp_path: Path) -> Callable[[str, str], ChildSpec]:
    """Makes a child that runs a shell script in the test's folder."""

    def make(name: str, script: str) -> ChildSpec:
        return ChildSpec(name, ("/bin/sh", "-c", script), dict(os.environ), tmp_path)

    return make


@pytest.fixture
def python(tmp_path: Path) -> Callable[[str, str], ChildSpec]:
    """Makes a child that runs Python code in the test's folder."""

    def make(name: str, code: str) -> ChildSpec:
        return ChildSpec(name, (sys.executable, "-c", code), dict(os.environ), tmp_path)

    return make


@pytest.fixture
def said() -> list[str]:
    """What the supervisor has printed."""
    return []


@pytest.fixture
def supervisor(tmp_path: Path, said: list[str]) -> Iterator[Supervisor]:
    """A supervisor with short waits, whose children end with the test."""
    logs = tmp_path / "logs"
    logs.mkdir()
    supervisor = Supervisor(logs, said.append, Backoff(first=0.05, longest=0.2, steady=5.0))
    yield supervisor
    supervisor.hurry = True
    supervisor.stop()
