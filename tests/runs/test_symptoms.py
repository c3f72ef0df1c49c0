"""What programs really print when they fail is understood, and other output is left alone."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from django.utils.translation import override

from runs.symptoms import SIGNS, symptoms
from runs.texts import SYMPTOMS, symptom_text

PYTHON = sys.executable
BARE = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
FAILING = [
    ([PYTHON, "-c", "import no_such_package.part"], "module_missing", {"name": "no_such_package"}),
    (["bash", "-c", "no-such-program --x"], "program_missing", {"name": "no-such-program"}),
    (["sh", "-c", "no-such-program --x"], "program_missing", {"name": "no-such-program"}),
    ([PYTHON, "-c", "import os; os.environ['DATA_DIR']"], "variable_missing", {"name": "DATA_DIR"}),
    (["bash", "-c", "set -u; echo $DATA_DIR"], "variable_missing", {"name": "DATA_DIR"}),
    ([PYTHON, "-c", "open('/mnt/no/such')"], "path_missing", {"path": "/mnt/no/such"}),
    ([PYTHON, "/mnt/no/train.py"], "path_missing", {"path": "/mnt/no/train.py"}),
    (["bash", "-c", "cd /mnt/no/where"], "path_missing", {"path": "/mnt/no/where"}),
    (["bash", "/mnt/no/run.sh"], "path_missing", {"path": "/mnt/no/run.sh"}),
    (["cat", "/mnt/no/such"], "path_missing", {"path": "/mnt/no/such"}),
    (["bash", "-c", "/etc/passwd"], "not_permitted", {}),
    (
        [
            *(PYTHON, "-c"),
            "import socket as s; a = s.create_server(('127.0.0.1', 0)); s.create_server(a.getsockname())",
        ],
        "port_in_use",
        {},
    ),
    ([PYTHON, "-c", "open('/dev/full', 'w', 1).write('x\\n')"], "no_space", {}),
]
TOLD = {
    "gpu_memory": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "not_meeting": "torch.distributed.DistNetworkError: The client socket has timed out after 600s",
    "shared_memory": "RuntimeError: DataLoader worker is killed by signal: Bus error.",
    "read_only": "OSError: [Errno 30] Read-only file system: '/infini-data/x'",
    "rank_failed": "  host : w\n  rank      : 3 (local_rank: 1)\n  exitcode  : 7 (pid: 12)\n",
}
SILENT = (
    "",
    "epoch 3 loss 0.1\nsaved /mnt/a\n",
    "best checkpoint not found, starting anew\n",
    "rank : 3 is ready\n",
    "KeyError: 'label'\n",
    "warning: file not found in cache; downloading\n",
)


@pytest.mark.parametrize(("command", "code", "data"), FAILING, ids=lambda value: str(value)[-40:])
def test_what_a_failing_program_prints_is_understood(command, code, data) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=BARE)
    assert done.returncode != 0
    found = {one.code: one.data for one in symptoms("epoch 1\n" + done.stdout + done.stderr)}
    assert code in found
    assert {name: found[code].get(name) for name in data} == data


@pytest.mark.parametrize(("code", "text"), TOLD.items())
def test_so_are_errors_that_need_gpus_or_several_machines(code, text) -> None:
    assert [one.code for one in symptoms(f"before\n{text}\nafter\n")] == [code]


@pytest.mark.parametrize("text", SILENT)
def test_ordinary_output_says_nothing(text) -> None:
    assert symptoms(text) == []


def test_the_last_one_said_comes_first_and_each_kind_once() -> None:
    text = "a: command not found\nModuleNotFoundError: No module named 'x'\nb: command not found\n"
    assert [(one.code, one.data["name"]) for one in symptoms(text)] == [
        ("program_missing", "b"),
        ("module_missing", "x"),
    ]


@pytest.mark.parametrize("piece", ["a", "a ", "a: ", "/", "rank : 1 ", " ", "'", "\n"])
def test_the_work_grows_with_the_lines_and_not_with_their_square(piece) -> None:
    """Eight times as many lines, compared in one run: the square would be 64 times the work."""
    line = (piece * 1000)[:990]

    def taken(lines: int) -> float:
        return min(thread_seconds("\n".join([line] * lines)) for _ in range(5))

    assert taken(64) < 24 * taken(8)


def test_what_is_longer_than_any_error_is_not_looked_through() -> None:
    long = "a" * 2**16 + ": command not found"
    assert symptoms(long) == []
    assert [one.code for one in symptoms(f"{long}\nb: command not found\n")] == ["program_missing"]


def thread_seconds(text: str) -> float:
    begun = time.thread_time()
    symptoms(text)
    return time.thread_time() - begun


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_each_has_a_sentence(language) -> None:
    data = {"name": "x", "path": "/p", "rank": "1", "exit_code": "3"}
    with override(language):
        told = [symptom_text(sign.code, data) for sign in SIGNS]
    assert {sign.code for sign in SIGNS} <= set(SYMPTOMS)
    assert all(told)
