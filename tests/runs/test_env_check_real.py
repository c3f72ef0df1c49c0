"""The environment check with real processes: passes, real failures, and what follows from them."""

import json
import os
import shutil
import time
from dataclasses import replace

import pytest

from engines.local.engine import LocalEngine
from jobs.models import Attempt, Worker
from jobs.scheduling import queue_tick
from jobs.services import job_stop
from jobs.spec import EnvVar, MountSpec
from pools.models import Hold
from runs import launching, watching
from tests.factories import make_volume
from tests.runs.test_real_runs import runs  # noqa: F401
from tools.programs import PYTORCH, WORKER_PATH, pytorch_path

pytestmark = pytest.mark.django_db
SMI = """#!/bin/bash
{when} && {{ echo "Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost."; exit 15; }}
for i in 0 1 2 3 4 5 6 7; do echo "$i, Fake A800, 81920, 0"; done
"""


class Mounted:
    """A job with one volume, on which a stand-in for the image's `nvidia-smi` may lie."""

    def __init__(self, runs, monkeypatch):  # noqa: F811
        self.runs = runs
        self.monkeypatch = monkeypatch
        team = runs.user.memberships.get().team
        self.volume = make_volume(runs.pool.zone, team)
        self.path = f"/mnt/t-{os.urandom(4).hex()}"

    def smi(self, when):
        tool = f"{self.volume.path}/nvidia-smi"
        with open(tool, "w") as file:
            file.write(SMI.format(when=when))
        os.chmod(tool, 0o755)
        self.image(PATH=f"{self.path}:/usr/local/bin:/usr/bin:/bin")

    def image(self, **variables):
        """As if the image had these."""

        def check_of(asked, port, made=launching.check_of):
            check = made(asked, port)
            return replace(check, env={**variables, **check.env})

        self.monkeypatch.setattr(launching, "check_of", check_of)

    def make(self, command="echo ran", **fields):
        fields = {"workers": 2, "gpus": 4} | fields
        mounts = [MountSpec(self.volume.pk, self.path)]
        return self.runs.make(command, env_check=True, mounts=mounts, **fields)


@pytest.fixture
def mounted(runs, monkeypatch):  # noqa: F811
    return Mounted(runs, monkeypatch)


def items(worker):
    return {item["item"]: item for item in worker.env_check["items"]}


def test_what_passes_runs_and_the_time_is_not_running_time(mounted):
    path = pytorch_path() or WORKER_PATH
    mounted.image(PATH=path)
    job = mounted.runs.ended(mounted.make("echo ran"))
    assert (job.state, job.exit_code, job.attempt) == ("succeeded", 0, 1)
    for worker in Worker.objects.all():
        found = items(worker)
        assert found["storage"]["verdict"] == "pass"
        assert found["storage"]["data"]["write"] > 0
        assert (found["allreduce"]["verdict"], found["allreduce"]["data"]["workers"]) == ("pass", 2)
        assert found["allreduce"]["code"] == ("allreduce_torch" if pytorch_path() else "allreduce_plain")
        assert found["runtime"]["data"]["python"] == shutil.which("python3", path=path)
        assert found["rdma"]["verdict"] != "pass" or os.path.exists("/sys/class/infiniband")
        assert (
            found["gpu"]["verdict"] == "pass" if os.path.exists("/proc/driver/nvidia") else "not_applicable"
        )
        assert worker.started_at.timestamp() >= worker.env_check["ended_at"]
    assert os.listdir(mounted.volume.path) == []
    begun = Attempt.objects.get().deployment["begun"]
    assert job.started_at.timestamp() > begun["env_check"] >= begun["pull_image"]
    assert mounted.runs.log(job) == "ran\n"


@pytest.mark.slow
@pytest.mark.skipif(not PYTORCH.is_there(), reason=PYTORCH.why_skipped())
def test_pytorch_adds_from_box_to_box(mounted, monkeypatch):
    mounted.image(PATH=pytorch_path())
    boxed = LocalEngine(mounted.runs.folder, "auto")
    monkeypatch.setattr(watching, "engine_of", lambda _kind: boxed)
    job = mounted.runs.ended(mounted.make("echo ran", workers=3, gpus=2))
    assert (job.state, mounted.runs.log(job)) == ("succeeded", "ran\n")
    found = [items(worker)["allreduce"] for worker in Worker.objects.all()]
    assert [(one["code"], one["data"]["backend"]) for one in found] == [("allreduce_torch", "gloo")] * 3


def test_a_node_that_fails_is_left_and_the_command_never_ran_there(mounted):
    mounted.smi('[ "$TRAINYARD_ATTEMPT" = 1 ]')
    job = mounted.runs.ended(mounted.make("echo ran", workers=1, gpus=8))
    assert (job.state, job.attempt, job.restarts) == ("succeeded", 2, 0)
    first, second = Worker.objects.order_by("attempt__number")
    assert first.node_id != second.node_id
    assert (first.started_at, mounted.runs.log(job, 1)) == (None, "")
    assert mounted.runs.log(job, 2) == "ran\n"
    told = job.events.get(code="env_check_failed").data
    assert (told["node"], told["item"], told["found"]) == (first.node_name, "gpu", "gpu_lost")
    assert "GPU is lost" in told["data"]["detail"]
    assert items(second)["gpu"]["code"] == "gpu_seen"
    assert mounted.runs.codes(job).count("running") == 1
    assert not Hold.objects.exists()


def test_who_fails_on_other_nodes_too_has_failed(mounted):
    mounted.smi("true")
    job = mounted.runs.ended(mounted.make(workers=1, gpus=8, auto_restart=True, max_restarts=3))
    assert (job.state, job.reason["code"], job.exit_code) == ("failed", "env_check", None)
    assert (job.attempt, job.restarts, job.started_at) == (2, 0, None)
    assert len(set(Worker.objects.values_list("node", flat=True))) == 2
    codes = mounted.runs.codes(job)
    assert "running" not in codes
    assert codes.count("env_check_failed") == 2
    assert not Hold.objects.exists()


def test_a_check_that_hangs_is_ended(mounted, settings):
    settings.ENV_CHECK_SECONDS = 1.0
    mounted.smi("sleep 600")
    job = mounted.runs.ended(mounted.make(workers=1))
    assert job.reason["code"] == "env_check"
    assert job.reason["data"]["item"] == "gpu"
    assert (job.reason["data"]["found"], job.reason["data"]["data"]) == ("timed_out", {"seconds": 1.0})


def test_what_the_job_sets_does_not_make_the_platform_fail(mounted):
    mounted.smi("false")
    with open(f"{mounted.volume.path}/sitecustomize.py", "w") as file:
        file.write("raise SystemExit('broken by the job')")
    env = [EnvVar("PATH", "/nowhere"), EnvVar("LD_LIBRARY_PATH", "/nowhere"), EnvVar("BASH_ENV", "/nowhere")]
    job = mounted.runs.ended(mounted.make("echo $PATH", env=env))
    assert (job.state, mounted.runs.log(job)) == ("succeeded", "/nowhere\n")
    for worker in Worker.objects.filter(attempt__job=job):
        found = items(worker)
        assert [found[item]["verdict"] for item in ("gpu", "storage", "allreduce")] == ["pass"] * 3
        assert found["runtime"]["code"] == "runtime_no_python"
    env = [EnvVar("PATH", "/usr/bin:/bin"), EnvVar("PYTHONPATH", mounted.path)]
    job = mounted.runs.ended(mounted.make(env=env))
    assert job.state == "succeeded"
    for worker in Worker.objects.filter(attempt__job=job):
        found = items(worker)
        assert found["allreduce"]["verdict"] == "pass"
        runtime = found["runtime"]
        assert (runtime["verdict"], runtime["code"]) == ("warn", "torch_broken")
        assert runtime["data"] == {"python": "/usr/bin/python3", "detail": "SystemExit: broken by the job"}


def test_without_the_check_there_is_none(mounted):
    job = mounted.runs.ended(mounted.runs.make("true"))
    assert "env_check" not in Attempt.objects.get(job=job).deployment["begun"]
    assert Worker.objects.get().env_check is None


def test_a_console_that_is_away_meanwhile(mounted):
    job = mounted.make("echo ran", workers=1)
    queue_tick()
    watching.attend()
    folder = mounted.runs.folder / job.key / "1" / "0"
    patience = time.monotonic() + 30
    while not (folder / "check.json").exists():
        assert time.monotonic() < patience
        time.sleep(0.05)
    assert json.loads((folder / "check.json").read_text())["outcome"] == "done"
    assert not (folder / "started").exists()
    job.refresh_from_db()
    assert mounted.runs.ended(job).state == "succeeded"


def test_what_is_shown_of_it(mounted, client, api):
    mounted.smi("true")
    job = mounted.runs.ended(mounted.make(workers=1, gpus=8))
    rest = api(mounted.runs.user)
    (report,) = rest.get(f"/api/v1/jobs/{job.key}/env-check/").json()["results"]
    assert (report["rank"], report["attempt"], report["outcome"]) == (0, 2, "done")
    (gpu,) = [item for item in report["items"] if item["item"] == "gpu"]
    assert (gpu["verdict"], gpu["message"].startswith("nvidia-smi: Unable")) == ("fail", True)
    (first,) = rest.get(f"/api/v1/jobs/{job.key}/env-check/?attempt=1").json()["results"]
    assert first["node"] != report["node"]
    whole = rest.get(f"/api/v1/jobs/{job.key}/").json()
    assert whole["env_check"] is True
    assert [step["step"] for step in whole["attempts"][0]["deploy_steps"] if step["reason"]] == ["env_check"]
    client.force_login(mounted.runs.user)
    page = client.get(f"/jobs/{job.key}/").content.decode()
    assert page.count('<details open class="ty-check">') == 2
    assert "The environment check failed on node" in page


def test_a_stop_during_the_check(mounted):
    mounted.smi("sleep 600")
    job = mounted.make(workers=1)
    mounted.runs.until(job, lambda job: job.deploy_step == "env_check")
    job_stop(job=job, actor=mounted.runs.user)
    mounted.runs.ended(job)
    assert (job.state, job.reason["code"]) == ("stopped", "stopped_by_user")
    assert "running" not in mounted.runs.codes(job)
    assert not Hold.objects.exists()
