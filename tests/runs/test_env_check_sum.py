"""The sum over the Workers: which way they agree on, and what is said of it. Real processes and sockets;
PyTorch is a small one of the same shape, and, in `make test-all`, the real one where it is installed."""

import contextlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from engines.base import CheckLook
from jobs.texts import found_text
from runs.env_check import script
from runs.env_check.program import TORCH
from runs.env_check.values import Asked, judged
from tools.programs import PYTORCH, pytorch_path

COLLECTIVE = Path(script.__file__).with_name("collective.py").read_text()
FAKE = str(Path(__file__).parent / "fake_torch")


def free_port():
    """None of those that connections get: others of the machine would be in the way."""
    while True:
        port = random.randrange(20_000, 30_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("0.0.0.0", port))
            return port


@pytest.fixture
def place(tmp_path):
    """A folder in which this Python is the image's."""
    (tmp_path / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (tmp_path / "python3").chmod(0o755)
    os.symlink(shutil.which("cat"), tmp_path / "cat")
    return tmp_path


def exchanged(path, *workers, seconds=60):
    """The items that each of the Workers, given by what their images set, has of the sum."""
    addresses = [f"127.0.0.{rank + 2}" for rank in range(len(workers))]
    asked = Asked((0,), workers=len(workers), seconds=seconds)
    port = free_port()
    check = script.check_of(asked, port)
    running = []
    for rank, image in enumerate(workers):
        told = {"RANK": rank, "GPUS": 1, "ADDRESSES": ",".join(addresses)}
        told = {f"TRAINYARD_CHECK_{name}": str(value) for name, value in told.items()}
        command = [shutil.which("bash"), "-c", check.script]
        env = {"PATH": str(path), **check.env, **told, **image}
        running.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True))
    texts = [worker.communicate(timeout=60)[0].partition("TRAINYARD-CHECK-END")[0] for worker in running]
    for address in (*addresses, "0.0.0.0"):  # at once, also for who does not know how to reuse one
        with socket.socket() as listener:
            listener.bind((address, port))
    return [judged(CheckLook("done", text), asked)[-1] for text in texts]


def fake(fault="", **more):
    return {"PYTHONPATH": FAKE, "FAKE_TORCH": fault, **more}


def told(items):
    return [(str(item.verdict), item.code) for item in items]


def test_pytorch_adds_where_every_worker_has_it(place):
    noted = str(place / "told")
    items = exchanged(place, *[fake(FAKE_TORCH_TOLD=noted)] * 3)
    assert told(items) == [("pass", "allreduce_torch")] * 3
    assert [(one.data["backend"], one.data["mib"], one.data["workers"]) for one in items] == [
        ("gloo", 4, 3)
    ] * 3
    assert all(one.data["speed"] > 0 for one in items)
    given = [json.loads(Path(f"{noted}.{rank}").read_text()) for rank in range(3)]
    assert [(one["rank"], one["size"], one["backend"], one["cwd"]) for one in given] == [
        (rank, 3, "gloo", "/") for rank in range(3)
    ]
    assert len({(one["host"], one["port"]) for one in given}) == 1
    assert given[0]["host"] == "127.0.0.2"
    assert all(one["interfaces"] == ["lo", "lo"] and 0 < one["seconds"] < 60 for one in given)


def test_what_the_image_says_of_interfaces_counts(place):
    noted = str(place / "told")
    exchanged(place, *[fake(FAKE_TORCH_TOLD=noted, GLOO_SOCKET_IFNAME="eth7")] * 2)
    assert json.loads(Path(f"{noted}.1").read_text())["interfaces"] == ["eth7", "lo"]


def test_nccl_where_every_worker_has_gpus(place):
    items = exchanged(place, fake(FAKE_GPUS="2"), fake(FAKE_GPUS="1"))
    assert [(one.code, one.data["backend"]) for one in items] == [("allreduce_torch", "nccl")] * 2


@pytest.mark.parametrize("lacks", [{}, {"FAKE_GPUS": "1", "TRAINYARD_CHECK_GPUS": "0"}])
@pytest.mark.parametrize("first", [True, False])
def test_gloo_where_one_worker_has_none(place, lacks, first):
    workers = [fake(**lacks), fake(FAKE_GPUS="1")]
    items = exchanged(place, *(workers if first else reversed(workers)))
    assert [(one.code, one.data["backend"]) for one in items] == [("allreduce_torch", "gloo")] * 2


@pytest.mark.parametrize(
    ("fault", "verdict", "code"),
    [
        ("absent", "pass", "allreduce_plain"),
        ("broken", "warn", "allreduce_plain_broken"),
        ("no gloo", "warn", "allreduce_plain_broken"),
        ("not distributed", "warn", "allreduce_plain_broken"),
        ("old", "warn", "allreduce_plain_broken"),
    ],
)
@pytest.mark.parametrize("rank", [0, 1])
def test_sockets_where_one_worker_has_no_pytorch(place, fault, verdict, code, rank):
    workers = [fake(), fake()]
    workers[rank] = fake(fault)
    items = exchanged(place, *workers)
    assert told([items[rank], items[1 - rank]]) == [(verdict, code), ("pass", "allreduce_plain_others")]
    assert all("plain sockets" in found_text(one.code, one.data) for one in items)


def test_of_an_old_pytorch_it_is_said(place):
    items = exchanged(place, fake("old"), fake("old"))
    assert {one.data["detail"] for one in items} == {"PyTorch is too old for this check"}


@pytest.mark.parametrize("program", [COLLECTIVE, TORCH])
def test_modules_of_the_current_folder_are_not_imported(tmp_path, program):
    """It is `/`, where a volume may be mounted under any name."""
    for name in ("json", "torch", "datetime", "typing"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('of a volume')")
    command = [sys.executable, "-c", program]
    given = {"cwd": tmp_path, "env": fake(), "input": "", "capture_output": True, "text": True}
    ended = subprocess.run(command, **given)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "way" in ended.stdout or "0.0-fake" in ended.stdout


@pytest.mark.parametrize(
    ("fault", "code", "detail"),
    [
        (
            "fails",
            "allreduce_failed",
            "RuntimeError: [pair.cc:534] Connection closed by peer [127.0.0.1]:32345",
        ),
        ("dies", "allreduce_failed", "ended with status 9: terminate called after throwing an instance"),
        ("wrong", "allreduce_wrong", None),
    ],
)
def test_a_sum_that_pytorch_cannot_make_has_failed(place, fault, code, detail):
    items = exchanged(place, fake(fault), fake(fault))
    assert told(items) == [("fail", code)] * 2
    for one in items:
        assert detail is None or one.data["detail"].startswith(detail)


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.skipif(not PYTORCH.is_there(), reason=PYTORCH.why_skipped())
def test_the_real_pytorch():
    items = exchanged(pytorch_path(), {}, {}, {})
    assert told(items) == [("pass", "allreduce_torch")] * 3
    assert [(one.data["backend"], one.data["mib"]) for one in items] == [("gloo", 4)] * 3
    text = found_text(items[0].code, items[0].data)
    assert text.startswith("The sum over 3 Workers is right: PyTorch with gloo, 4 MiB in ")


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.skipif(not PYTORCH.is_there(), reason=PYTORCH.why_skipped())
def test_the_real_pytorch_that_finds_no_way_to_the_others():
    nowhere = {"GLOO_SOCKET_IFNAME": "nowhere0"}
    items = exchanged(pytorch_path(), nowhere, nowhere, seconds=20)
    assert told(items) == [("fail", "allreduce_failed")] * 2
    assert any("nowhere0" in one.data["detail"] for one in items)  # the other may find the first gone


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.skipif(not PYTORCH.is_there(), reason=PYTORCH.why_skipped())
def test_the_small_pytorch_has_the_shape_of_the_real_one():
    names = (
        "import json, torch, torch.distributed as d, inspect\n"
        "t = torch.arange(3); s = inspect.signature(d.init_process_group).parameters\n"
        "print(json.dumps([dir(torch), dir(d), dir(torch.cuda), dir(t), list(s)]))"
    )
    real = shutil.which("python3", path=pytorch_path())
    env = {"PATH": pytorch_path()}
    known, small = (
        json.loads(subprocess.run([python, "-c", names], env=given, capture_output=True, check=True).stdout)
        for python, given in ((real, env), (sys.executable, env | {"PYTHONPATH": FAKE}))
    )
    own = {
        "FAULT",
        "chosen",
        "pattern",
        "length",
        "os",
        "sys",
        "json",
        "datetime",
        "time",
        "Client",
        "Listener",
    }
    for mine, theirs in zip(small, known, strict=True):
        assert {name for name in mine if not name.startswith("_")} - own <= {*theirs, "cuda"}
