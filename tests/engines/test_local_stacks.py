"""What of a process is told beside its stacks, and what py-spy's failures are called."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from engines.local import stacks


@pytest.mark.parametrize(
    ("words", "script"),
    [
        (["train.py", "--token=x"], ["train.py"]),
        (["-u", "/mnt/public/a b/train.py", "x"], ["train.py"]),
        (["-X", "dev", "-W", "ignore", "t.py"], ["t.py"]),
        (["-m", "torch.distributed.run", "--nnodes", "2"], ["-m", "torch.distributed.run"]),
        (["-u", "-c", "print('secret')"], ["-c"]),
        ([""], []),
        ([], []),
    ],
)
def test_arguments_are_left_out(words, script):
    assert stacks._script(iter(words)) == script


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("Permission Denied: Try running again with elevated permissions", "denied"),
        ("Error: Operation not permitted (os error 1)", "denied"),
        ("Error: No such process (os error 3)", "gone"),
        ("Error: Failed to find python version from target process", "unreadable"),
    ],
)
def test_failures_have_codes(said, code):
    assert stacks._fault(said).code == code


def test_without_py_spy_that_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(stacks, "program", lambda: None)
    assert stacks.of_worker(str(tmp_path / "3"), 0.0).trouble.code == "not_installed"


def test_there_is_no_time_left():
    assert stacks._dump(stacks.program(), os.getpid(), time.monotonic(), [])[1].code == "too_slow"


def test_somebody_elses_process_is_denied():
    """An ordinary user looks at a process of root's."""
    if os.getuid():
        pytest.skip("needs root to become an ordinary user")
    place = Path(tempfile.mkdtemp(prefix="trainyard-stacks-"))
    place.chmod(0o755)
    shutil.copy(stacks.program(), place / "py-spy")
    (place / "py-spy").chmod(0o755)
    code = "import time; print(1, flush=True); time.sleep(60)"
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert other.stdout.read(1) == b"1"
        run = subprocess.run(
            [str(place / "py-spy"), "dump", "--json", "--pid", str(other.pid)],
            user="nobody", group="nogroup", extra_groups=[], capture_output=True, text=True, cwd="/",
        )  # fmt: skip
        assert run.returncode != 0
        assert stacks._fault(run.stderr).code == "denied"
    finally:
        other.kill()
        other.communicate()
        shutil.rmtree(place)
