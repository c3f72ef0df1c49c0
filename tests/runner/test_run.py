"""The whole runner as a process of its own, with stand-ins for the console's programs."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from console.runner.config import ROOT
from tests.e2e.stack import free_pair
from tests.runner.conftest import is_alive, number_in, wait_for

PATIENCE = 60.0  # a busy machine takes long to start Python; nothing waits longer than it must


class Run:
    """One `make run`, as far as the runner is concerned."""

    def __init__(self, data_dir: Path, port: int):
        self.data_dir = data_dir
        self.output = data_dir.parent / f"output-{port}-{os.urandom(3).hex()}"
        environment = {
            **os.environ,
            "DATA_DIR": str(data_dir),
            "PORT": str(port),
            "REDIS_URL": "redis://none",
        }
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.runner.stand_in"],
                cwd=ROOT,
                env=environment,
                stdout=output,
                stderr=output,
            )

    def said(self) -> str:
        return self.output.read_text()

    def wait_ready(self) -> "Run":
        wait_for(lambda: "Trainyard is ready" in self.said() or self.process.poll() is not None)
        assert "Trainyard is ready" in self.said(), self.said()
        return self

    def children(self) -> list[int]:
        sessions = json.loads((self.data_dir / "run.sessions").read_text())
        return [*sessions, number_in(self.data_dir / "web-child.pid")]

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=PATIENCE)


@pytest.fixture
def runs(tmp_path):
    """Starts runs; all that they leave is ended with the test."""
    started: list[Run] = []

    def start(port: int | None = None, name: str = "var") -> Run:
        started.append(Run(tmp_path / name, port or free_pair()))
        return started[-1]

    yield start
    for run in started:
        if run.process.poll() is None:
            run.end(signal.SIGTERM)
        with contextlib.suppress(OSError, ValueError):
            os.kill(int((run.data_dir / "detached.pid").read_text()), signal.SIGKILL)


def test_it_says_when_it_is_ready_and_how_to_sign_in(runs):
    port = free_pair()
    run = runs(port).wait_ready()
    assert f"Trainyard is ready: http://127.0.0.1:{port}" in run.said()
    wait_for(lambda: "the password is: demo" in run.said())


def test_a_second_run_names_the_holder_and_changes_nothing(runs):
    first = runs().wait_ready()
    ours = [path for path in first.data_dir.rglob("*") if path.parent.name != "logs"]
    before = {path: path.stat().st_mtime_ns for path in ours}
    second = runs()
    assert second.process.wait(timeout=PATIENCE) == 1
    assert f"process {first.process.pid}, port " in second.said()
    assert before == {path: path.stat().st_mtime_ns for path in before}
    assert first.process.poll() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_asked_to_end_it_ends_what_it_started_but_no_job(runs, number):
    run = runs().wait_ready()
    children = run.children()
    detached = number_in(run.data_dir / "detached.pid")
    assert run.end(number) == 0
    assert not any(is_alive(pid) for pid in children)
    assert is_alive(detached)


def test_killed_it_takes_its_children_along(runs):
    run = runs().wait_ready()
    children = json.loads((run.data_dir / "run.sessions").read_text())
    run.end(signal.SIGKILL)
    wait_for(lambda: not any(is_alive(pid) for pid in children))
    assert is_alive(number_in(run.data_dir / "detached.pid"))


def test_after_a_kill_the_next_run_clears_what_is_left_and_starts(runs):
    port = free_pair()
    first = runs(port).wait_ready()
    orphan = number_in(first.data_dir / "web-child.pid")
    first.end(signal.SIGKILL)
    assert is_alive(orphan), "the stand-in's own child has no parent to tell it to end"
    second = runs(port).wait_ready()
    assert "Ended 1 processes of an earlier run" in second.said()
    assert not is_alive(orphan)
    assert is_alive(number_in(first.data_dir / "detached.pid"))


@pytest.mark.parametrize(("after", "what"), [(0, ""), (1, " (PORT + 1, for downloads)")])
def test_a_busy_port_is_named_with_a_way_out(runs, after, what):
    port = free_pair()
    with socket.socket() as other:
        other.bind(("127.0.0.1", port + after))
        other.listen()
        run = runs(port)
        assert run.process.wait(timeout=PATIENCE) == 1
    said = f"Port {port + after}{what} is in use by another program. Choose another: PORT={port + 2} make run"
    assert said in run.said()


def test_data_dir_and_keys_are_for_the_owner_alone(runs):
    run = runs().wait_ready()
    private = [run.data_dir, run.data_dir / "secrets", run.data_dir / "logs"]
    assert [path.stat().st_mode & 0o777 for path in private] == [0o700] * 3
    keys = [(path.name, path.stat().st_mode & 0o777) for path in (run.data_dir / "secrets").iterdir()]
    assert sorted(keys) == [("django_secret_key", 0o600), ("fernet_keys", 0o600)]


def test_no_secret_is_an_argument(runs, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://user:mellon@localhost/db")
    run = runs().wait_ready()
    for pid in [run.process.pid, *run.children()]:
        assert b"mellon" not in Path(f"/proc/{pid}/cmdline").read_bytes()
