"""The console is killed while jobs run and wait: nothing is lost, and nothing runs twice."""

import shutil

import pytest

from tests.e2e.stack import Console, wait_until

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(300)]
COUNTING = "for i in $(seq 1 {n}); do echo $i; sleep 0.1; done"


def counted(n: int) -> str:
    return "".join(f"{i}\n" for i in range(1, n + 1))


def ran_once(console: Console, key: str) -> bool:
    codes = console.events(key)
    return console.job(key)["attempt"] == 1 and codes.count("running") == 1


def test_everything_killed_and_redis_wiped(own_console):
    console = own_console
    whole = console.spec(8)
    running = console.submit(COUNTING.format(n=250), spec=whole, worker_count=2)
    failing = console.submit("sleep 8; exit 5", spec=whole)
    short = console.submit("echo begun; sleep 2; echo ended", spec=whole)
    waiting = console.submit("echo waited", spec=whole, worker_count=4)
    wait_until(lambda: "10\n" in console.log(running, 1), "the long job runs")
    console.wait_state(short, "running", "succeeded")
    assert console.job(waiting)["state"] == "queued"

    console.kill()
    shutil.rmtree(console.data_dir / "redis")
    console.start()

    for key, state in (
        (running, "succeeded"),
        (short, "succeeded"),
        (waiting, "succeeded"),
        (failing, "failed"),
    ):
        job = console.wait_end(key)
        assert job["state"] == state, job
        assert ran_once(console, key)
    assert console.job(failing)["exit_code"] == 5
    assert console.log(running, 0) == console.log(running, 1) == counted(250)
    assert console.log(waiting, 3) == "waited\n"
    assert "all counts are right" in console.manage("recount")
    assert console.idle_gpus() == 32


def test_a_polite_end_leaves_jobs_running(own_console):
    console = own_console
    key = console.submit(COUNTING.format(n=150))
    wait_until(lambda: "5\n" in console.log(key), "the job runs")
    console.stop()
    console.start()
    assert console.wait_end(key)["state"] == "succeeded"
    assert console.log(key) == counted(150)
    assert ran_once(console, key)


def test_workers_killed_one_by_one(own_console):
    console = own_console
    keys = []
    for name in ("celery", "granian", "redis-server"):
        keys.append(console.submit(COUNTING.format(n=40)))
        console.kill_parts(name)
        wait_until(console.answers, "the console answers again")
    for key in keys:
        assert console.wait_end(key)["state"] == "succeeded"
        assert console.log(key) == counted(40)
        assert ran_once(console, key)


def test_the_worker_of_the_console_killed_during_an_environment_check(own_console):
    console = own_console
    mount = console.volume_mount()
    tool = f"{mount['mount_path']}/python3"
    script = "#!/bin/sh\nsleep 4; echo no libtorch here; exit 1\n"
    made = console.run(f"printf '{script}' > {tool} && chmod 755 {tool}", mounts=[mount])
    assert made["state"] == "succeeded", made
    path = f"{mount['mount_path']}:/usr/local/bin:/usr/bin:/bin"
    key = console.submit(
        "echo ran",
        spec=console.spec(8),
        worker_count=2,
        env_check=True,
        mounts=[mount],
        env=[{"name": "PATH", "value": path, "private": False}],
    )
    wait_until(lambda: console.job(key)["deploy_step"] == "env_check", "the check runs")
    console.kill_parts("celery")
    assert console.wait_end(key)["state"] == "succeeded"
    assert ran_once(console, key)
    assert [console.log(key, rank) for rank in (0, 1)] == ["ran\n", "ran\n"]
    reports = console.call("GET", f"jobs/{key}/env-check/")["results"]
    found = [item["message"] for report in reports for item in report["items"] if item["item"] == "runtime"]
    assert found == [f"{tool}: PyTorch cannot be loaded: no libtorch here"] * 2
    steps = {step["step"]: step for step in console.job(key)["attempts"][0]["deploy_steps"]}
    assert steps["env_check"]["begun_at"] < steps["env_check"]["ended_at"] == console.job(key)["started_at"]
    assert console.idle_gpus() == 32
