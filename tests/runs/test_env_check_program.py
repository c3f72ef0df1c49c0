"""The text that is run in Workers: it must run with old Pythons too, and say so where it cannot."""

import ast
import json
import os
import shutil
import subprocess
import sys

import pytest

from engines.base import CheckLook
from runs.env_check import script
from runs.env_check.values import ITEMS, Asked, judged

OLDEST = (3, 6)


def annotations(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.returns
        yield getattr(node, "annotation", None)


def from_typing(tree):
    imports = [
        node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "typing"
    ]
    return {name.name for node in imports for name in node.names}


def too_new(tree):
    """Annotations that old Pythons evaluate to an error: only what `typing` offers may be subscripted."""
    known = from_typing(tree)
    for annotation in annotations(tree):
        for node in ast.walk(annotation) if annotation is not None else ():
            if isinstance(node, ast.Subscript) and not (
                isinstance(node.value, ast.Name) and node.value.id in known
            ):
                yield ast.unparse(node)
            if isinstance(node, ast.BinOp):
                yield ast.unparse(node)


@pytest.mark.parametrize("program", [script._PROGRAM, script._COLLECTIVE])
def test_the_oldest_python_that_is_promised_can_read_it(program):
    tree = ast.parse(program, feature_version=OLDEST)
    assert list(too_new(tree)) == []


def test_what_an_old_python_cannot_evaluate_is_seen():
    for text in ("def f(a: list[str]): 0", "def f() -> tuple[int]: 0", "def f(*a: 'x', b: int | str): 0"):
        assert list(too_new(ast.parse(text)))
    with pytest.raises(SyntaxError):
        ast.parse("(a := 1)", feature_version=OLDEST)


def run(tmp_path, python, **env):
    """What the script says where this program is the only Python."""
    place = tmp_path / "bin"
    place.mkdir()
    if python is not None:
        (place / "python3").write_text(python)
        (place / "python3").chmod(0o755)
    os.symlink(shutil.which("cat"), place / "cat")
    ran = subprocess.run(
        [shutil.which("bash"), "-c", script.SCRIPT],
        env={"PATH": str(place), **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    text, end, _ = ran.stdout.partition("TRAINYARD-CHECK-END")
    assert end
    return text


def codes(text, workers=2):
    items = judged(CheckLook("done", text), Asked((0,), workers=workers, mounts=(("/d", False),)))
    return [(item.item, str(item.verdict), item.code) for item in items]


@pytest.mark.parametrize(
    ("python", "code"),
    [
        (None, "no_python"),
        ("#!/bin/sh\ncat > /dev/null\necho \"TypeError: 'type' object is not subscriptable\" >&2\nexit 1\n",
         "program_broke"),
        ("#!/bin/sh\nprintf 'no end of line'\nkill -9 $$\n", "program_broke"),
        ("#!/nowhere/python\n", "program_broke"),
        (f"#!/bin/sh\nexec {sys.executable} \"$@\"\n", "program_broke"),  # it is not told what to do
    ],
)  # fmt: skip
def test_where_the_program_cannot_run_nothing_is_measured_and_nobody_is_blamed(tmp_path, python, code):
    assert codes(run(tmp_path, python)) == [(item, "warn", code) for item in ITEMS]


def test_what_breaks_after_a_measurement_is_the_nodes_doing(tmp_path):
    told = json.dumps({"item": "gpu", "driver": False, "devices": 0, "status": None})
    text = run(tmp_path, f"#!/bin/sh\ncat > /dev/null\necho '{told}'\nexit 139\n")
    assert codes(text) == [
        ("gpu", "not_applicable", "gpu_none"),
        *((item, "fail", "no_answer") for item in ITEMS[1:]),
    ]


def test_what_runs_well_says_nothing_of_itself(tmp_path):
    told = {"SECONDS": "5", "ADDRESSES": "127.0.0.2", "RANK": "0", "PORT": "", "MOUNTS": "[]"}
    env = {f"TRAINYARD_CHECK_{name}": value for name, value in told.items()}
    text = run(tmp_path, f'#!/bin/sh\nexec {sys.executable} "$@"\n', **env)
    assert [json.loads(line)["item"] for line in text.splitlines()] == ["gpu", "rdma", "runtime"]


def test_what_the_job_sets_is_for_the_look_at_its_python_alone(tmp_path):
    """Its PATH, and whatever else its command will have."""
    told = {"SECONDS": "30", "ADDRESSES": "127.0.0.2", "RANK": "0", "PORT": "", "MOUNTS": "[]"}
    job = tmp_path / "job"
    job.mkdir()
    (job / "python3").write_text('#!/bin/sh\necho "{\\"torch\\": \\"$V of $IMAGE\\"}"\n')
    (job / "nvidia-smi").write_text("#!/bin/sh\nexit 15\n")
    for tool in job.iterdir():
        tool.chmod(0o755)
    told |= {"OF_COMMAND_PATH": str(job), "OF_COMMAND_V": "7", "OF_COMMAND_LD_PRELOAD": "/nowhere.so"}
    env = {f"TRAINYARD_CHECK_{name}": value for name, value in told.items()}
    text = run(tmp_path, f'#!/bin/sh\nexec {sys.executable} "$@"\n', IMAGE="i", **env)
    gpu, _, runtime = (json.loads(line) for line in text.splitlines())
    assert gpu["status"] is None
    assert (runtime["python"], runtime["torch"]) == (str(job / "python3"), "7 of i")
    assert runtime["job_sets"] == ["LD_PRELOAD", "PATH"]
