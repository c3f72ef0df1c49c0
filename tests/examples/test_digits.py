"""The example that users copy, run as they run it: real processes that find each other on loopback."""

from __future__ import annotations

import ast
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
EPOCHS = 6
INJECTED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "OUTPUT_DIR")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(**injected: object) -> dict[str, str]:
    """Ours without what a job would inject, and then this."""
    plain = {name: value for name, value in os.environ.items() if name not in INJECTED}
    return plain | {name: str(value) for name, value in injected.items()}


def group_environment(rank: int, world: int, port: int) -> dict[str, str]:
    return environment(RANK=rank, WORLD_SIZE=world, MASTER_ADDR="127.0.0.1", MASTER_PORT=port)


class Workers:
    """The Workers of one run; ended at the latest when the test ends."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, output: Path, world: int, *options: object) -> list[subprocess.Popen[str]]:
        command = [sys.executable, "train.py", "--output", str(output), *map(str, options)]
        port = free_port()
        return [self.spawn(command, group_environment(rank, world, port)) for rank in range(world)]

    def spawn(self, command: list[str], env: dict[str, str]) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, cwd=DIGITS, env=env, stdout=pipe, stderr=pipe, text=True)
        self.processes.append(process)
        return process

    def run(self, output: Path, world: int, *options: object) -> list[str]:
        """Run to a good end; what each Worker printed."""
        started = self.start(output, world, *options)
        ended = [finish(process) for process in started]
        assert [code for code, _, _ in ended] == [0] * len(started), ended
        return [out for _, out, _ in ended]

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()


def finish(process: subprocess.Popen[str], within: float = 30) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=within)
    return process.returncode, out, err


def wait_for_line(process: subprocess.Popen[str], start: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(start):
            return
    pytest.fail(f"no line {start!r}")


def saved(output: Path) -> dict[str, object]:
    return json.loads((output / "checkpoint.json").read_text())


def accuracy(out: str) -> float:
    word, value = out.splitlines()[-1].split()
    assert word == "accuracy"
    return float(value)


@pytest.fixture
def workers() -> Iterator[Workers]:
    running = Workers()
    yield running
    running.close()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """One Worker without any injected variable, never interrupted: what the other runs have to match."""
    output = tmp_path_factory.mktemp("alone")
    running = Workers()
    command = [sys.executable, "train.py", "--epochs", str(EPOCHS)]
    try:
        code, out, err = finish(running.spawn(command, environment(OUTPUT_DIR=output)))
    finally:
        running.close()
    assert code == 0, err
    return output, out


def test_one_worker_learns_and_leaves_a_checkpoint(alone: tuple[Path, str]) -> None:
    output, out = alone
    assert accuracy(out) > 0.93
    assert "resumed" not in out
    assert [path.name for path in output.iterdir()] == ["checkpoint.json"]
    checkpoint = saved(output)
    assert (checkpoint["epoch"], checkpoint["shape"]) == (EPOCHS, [10, 65])


@pytest.mark.parametrize("world", [2, 3])
def test_the_number_of_workers_does_not_change_the_result(
    world: int, alone: tuple[Path, str], workers: Workers, tmp_path: Path
) -> None:
    outs = workers.run(tmp_path, world, "--epochs", EPOCHS)
    assert {accuracy(out) for out in outs} == {accuracy(alone[1])}
    expected = saved(alone[0])
    for name in ("weights", "momentum"):
        assert saved(tmp_path)[name] == pytest.approx(expected[name], abs=1e-9)


def test_a_run_killed_midway_resumes_to_the_same_weights(workers: Workers, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    first, second = workers.start(cut, 2, "--epochs", 1000)
    wait_for_line(first, "epoch 2/")
    first.kill()
    code, _, err = finish(second, within=5)
    assert code == 1
    assert "rank 1: lost rank 0" in err
    finish(first)
    reached = saved(cut)["epoch"]
    assert isinstance(reached, int)

    for out in workers.run(cut, 2, "--epochs", reached + 3):
        assert f"resumed from epoch {reached}\n" in out
    workers.run(whole, 2, "--epochs", reached + 3)
    assert saved(cut) == saved(whole)


def test_a_lost_worker_ends_all_the_others(workers: Workers, tmp_path: Path) -> None:
    started = workers.start(tmp_path, 3, "--epochs", 1000)
    wait_for_line(started[0], "epoch 1/")
    started[1].kill()
    ended = [finish(process, within=5) for process in (started[0], started[2])]
    assert [code for code, _, _ in ended] == [1, 1]
    assert "rank 0: lost rank 1" in ended[0][2]
    assert "rank 2: lost rank 0" in ended[1][2]


def test_a_worker_that_never_comes_is_not_awaited_for_ever(workers: Workers, tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "train.py", "--output", str(tmp_path), "--timeout", "2"]
    first, second = (workers.spawn(command, group_environment(rank, 3, port)) for rank in (0, 1))
    code, _, err = finish(first, within=10)
    assert code == 1
    assert "2} not here in 2 s (timed out)" in err
    assert finish(second, within=10)[0] == 1


def test_a_worker_that_hangs_is_not_awaited_for_ever(workers: Workers, tmp_path: Path) -> None:
    first, second = workers.start(tmp_path, 2, "--timeout", 3, "--epochs", 1000)
    wait_for_line(first, "epoch 1/")
    second.send_signal(signal.SIGSTOP)
    code, _, err = finish(first, within=10)
    assert code == 1
    assert "rank 0: lost rank 1 (timed out)" in err


def test_a_stranger_on_the_port_is_ignored(workers: Workers, tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "train.py", "--epochs", "1", "--output", str(tmp_path)]
    first = workers.spawn(command, group_environment(0, 2, port))
    deadline = time.monotonic() + 10
    for greeting in (b"GET / HTTP/1.1\r\n\r\n", struct.pack("!4sII", b"SUM1", 1, 7)):
        while True:
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=5) as stranger:
                    stranger.sendall(greeting)
                    break
            except ConnectionRefusedError:
                assert time.monotonic() < deadline
                time.sleep(0.05)
    second = workers.spawn(command, group_environment(1, 2, port))
    code, out, err = finish(first)
    assert code == 0, err
    assert out.count("ignored a connection from 127.0.0.1") == 2
    assert finish(second)[0] == 0


def test_a_rehearsed_failure_happens_once(workers: Workers, tmp_path: Path) -> None:
    options = ("--epochs", 3, "--fail-at-epoch", 2)
    started = workers.start(tmp_path, 2, *options)
    assert [finish(process)[0] for process in started] == [3, 3]
    assert saved(tmp_path)["epoch"] == 2
    assert "resumed from epoch 2\n" in workers.run(tmp_path, 2, *options)[0]
    assert saved(tmp_path)["epoch"] == 3


def test_sigterm_ends_it_at_once_with_a_whole_checkpoint(workers: Workers, tmp_path: Path) -> None:
    """Through run.sh: exec has to hand the signal on."""
    command = ["sh", str(DIGITS / "run.sh"), "--epochs", "1000"]
    worker = workers.spawn(command, environment(OUTPUT_DIR=tmp_path))
    wait_for_line(worker, "epoch 1/")
    worker.terminate()
    code, _, err = finish(worker, within=5)
    assert code == 143
    assert "stopped by a signal" in err
    assert len(saved(tmp_path)["weights"]) == 650  # type: ignore[arg-type]


def checkpoint_text(epoch: int = 3, seed: int = 1, shape: tuple[int, int] = (10, 65), size: int = 650) -> str:
    numbers = [0.5] * size
    content = {"epoch": epoch, "seed": seed, "shape": shape, "weights": numbers, "momentum": numbers}
    return json.dumps(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"epoch": 3, "wei', "is damaged"),
        ("[]", "is damaged"),
        (checkpoint_text(size=7), "is damaged"),
        (checkpoint_text(epoch=-1), "is damaged"),
        (checkpoint_text().replace("0.5", "NaN", 1), "is damaged"),
        (checkpoint_text(shape=(2, 3)), "has the shape [2, 3], not [10, 65]"),
        (checkpoint_text(seed=8), "was made with --seed 8, not 1"),
    ],
    ids=["half", "list", "short", "epoch", "nan", "shape", "seed"],
)
def test_an_unfit_checkpoint_is_refused_and_kept(
    content: str, message: str, workers: Workers, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint.json"
    checkpoint.write_text(content)
    first, second = (finish(process, within=10) for process in workers.start(tmp_path, 2))
    assert (first[0], second[0]) == (1, 1)
    assert f"checkpoint {checkpoint}" in first[2]
    assert message in first[2]
    assert "Traceback" not in first[2] + second[2]
    assert checkpoint.read_text() == content


def test_other_errors_are_told_without_a_traceback(workers: Workers, tmp_path: Path) -> None:
    broken = tmp_path / "broken.csv"
    broken.write_text("1,2,3\n")
    for options, message in [
        (("--data", broken), "line 1: 64 pixels and a digit expected"),
        (("--data", tmp_path / "missing.csv"), "missing.csv"),
        (("--learning-rate", 1e308), "lower --learning-rate"),
    ]:
        code, _, err = finish(workers.start(tmp_path, 1, *options)[0])
        assert code == 1
        assert message in err
        assert "Traceback" not in err
    assert not (tmp_path / "checkpoint.json").exists()


def test_it_needs_the_standard_library_of_python_3_9_alone() -> None:
    allowed = set(sys.stdlib_module_names) | {"allreduce"}
    for program in DIGITS.glob("*.py"):
        tree = ast.parse(program.read_text(), feature_version=(3, 9))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert {name.name.split(".")[0] for name in node.names} <= allowed
            elif isinstance(node, ast.ImportFrom):
                assert node.module in allowed
