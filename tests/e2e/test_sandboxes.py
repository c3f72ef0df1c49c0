"""The story where namespaces are forbidden: jobs run, pages warn, and nothing is left behind."""

import re
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from tests.e2e.stack import Console, processes_with, wait_until

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module", params=["none", "proot"])
def console(request, tmp_path_factory) -> Iterator[Console]:
    if request.param == "proot" and not shutil.which("proot"):
        pytest.skip("proot is not installed")
    folder = tmp_path_factory.mktemp(request.param)
    with Console(folder / "data", SANDBOX=request.param) as started:
        started.mode = request.param
        yield started


def test_digits_succeed(console):
    path = "/mnt/trainyard-test"
    job = console.run(
        f"sh {path}/digits/run.sh --epochs 12",
        worker_count=2,
        framework="pytorch_ddp",
        mounts=[console.volume_mount() | {"mount_path": path}],
        env=[{"name": "OUTPUT_DIR", "value": f"{path}/outputs/{console.mode}"}],
    )
    assert job["state"] == "succeeded", console.log(job["id"])
    assert float(re.findall(r"accuracy (0\.\d+)", console.log(job["id"]))[-1]) > 0.9
    volumes = console.data_dir / "volumes"
    assert [p for p in volumes.rglob(f"outputs/{console.mode}/*") if p.is_file()]


@pytest.mark.parametrize("page", ["/accounts/login/", "/nothing/here/"])
def test_every_page_warns(console, page):
    request = urllib.request.Request(console.address + page, headers={"Accept-Language": "en"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            text = answer.read().decode()
    except urllib.error.HTTPError as error:
        text = error.read().decode()
    assert "Jobs on this machine run unprotected" in text
    assert console.mode in text


def test_stop_leaves_no_process(console, word):
    key = console.submit(
        f"bash -c 'trap \"\" TERM; sleep {word} & setsid sleep {word} & echo up; sleep {word}'",
        stop_grace_seconds=1,
    )
    wait_until(lambda: "up" in console.log(key), "the command runs")
    console.call("POST", f"jobs/{key}/stop/")
    assert console.wait_end(key)["state"] == "stopped"
    assert processes_with(word) == []


def test_a_failing_worker_leaves_no_process(console, word):
    idle = console.idle_gpus()
    command = f'if [ "$RANK" = 1 ]; then sleep 1; exit 7; fi; setsid sleep {word} & sleep {word}'
    job = console.run(command, worker_count=3, framework="pytorch_ddp")
    assert job["first_failure"]["rank"] == 1
    assert processes_with(word) == []
    assert console.idle_gpus() == idle
