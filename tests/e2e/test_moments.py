"""Moments at which consoles lose their way: a stop in each state, a worker killed while it deploys, messages
that are gone, and the logs of earlier attempts."""

from __future__ import annotations

import random
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest
import redis

from console.runner.redis_server import socket_path
from tests.e2e.stack import ENDED, Console, wait_until

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(300)]
NOTE = 'echo "$TRAINYARD_JOB_ID $TRAINYARD_WORKER" >> /mnt/public/ran-{word}\n'


@pytest.fixture(scope="module")
def console(tmp_path_factory):
    """A console that restarts jobs soon, and that the tests may kill parts of."""
    folder = tmp_path_factory.mktemp("moments") / "data"
    with Console(folder, RESTART_PAUSE_SECONDS="0.3") as started:
        yield started


@pytest.fixture(autouse=True)
def nothing_is_held(console):
    yield
    wait_until(lambda: console.idle_gpus() == 32, "all GPUs are free", 20)
    assert "all counts are right" in console.manage("recount")


def stop(console, key):
    return console.call("POST", f"jobs/{key}/stop/")


def ends(console, key):
    return [code for code in console.events(key) if code in ENDED]


def ran(console, word):
    files = list((console.data_dir / "volumes").rglob(f"ran-{word}"))
    return Counter(files[0].read_text().splitlines()) if files else Counter()


def moment(text):
    return datetime.fromisoformat(text)


def test_a_stop_right_after_the_creation(console, word):
    note = NOTE.format(word=word)
    keys = []
    for _ in range(5):
        keys.append(console.submit(f"{note}sleep {word}", mounts=[console.volume_mount()]))
        stop(console, keys[-1])
    jobs = [console.wait_end(key) for key in keys]
    assert {(job["state"], job["reason"]["code"]) for job in jobs} == {("stopped", "stopped_by_user")}
    before = ran(console, word)
    time.sleep(2.5)  # two ticks: who was stopped does not come back
    assert [console.job(key) for key in keys] == jobs
    assert ran(console, word) == before
    assert [ends(console, key) for key in keys] == [["stopped"]] * 5


def test_a_stop_of_a_job_that_waits(console, word):
    full = console.submit(f"sleep {word}", spec=console.spec(8), worker_count=4, stop_grace_seconds=0)
    waiting = console.submit("echo never", spec=console.spec(8))
    console.wait_state(full, "running")
    assert stop(console, waiting)["state"] == "stopped"
    assert console.events(waiting)[0] == "created"
    assert not {"deploying", "running"} & set(console.events(waiting))
    stop(console, full)
    assert console.wait_end(full)["state"] == "stopped"
    assert console.job(waiting)["state"] == "stopped"
    assert ends(console, waiting) == ["stopped"]


def test_a_stop_while_it_deploys(console, word):
    for _ in range(8):
        key = console.submit(f"sleep {word}", worker_count=8, framework="pytorch_ddp", stop_grace_seconds=0)
        while console.job(key)["state"] == "queued":
            time.sleep(0.01)
        caught = stop(console, key)["state"] == "deploying"
        job = console.wait_end(key)
        assert (job["state"], job["reason"]["code"]) == ("stopped", "stopped_by_user")
        assert ends(console, key) == ["stopped"]
        if caught:
            return
    pytest.fail("no job was caught while it was deploying")


@pytest.mark.parametrize(("command", "state"), [("exit 0", "succeeded"), ("exit 3", "failed")])
def test_a_stop_of_what_has_ended_changes_nothing(console, command, state):
    job = console.run(command)
    assert job["state"] == state
    events = console.events(job["id"])
    assert stop(console, job["id"]) == job
    time.sleep(1.5)
    assert console.job(job["id"]) == job
    assert console.events(job["id"]) == events


def test_two_stops_at_once_are_one(console, word):
    key = console.submit(f"sleep {word}", stop_grace_seconds=0)
    console.wait_state(key, "running")
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: stop(console, key), range(4)))
    assert console.wait_end(key)["state"] == "stopped"
    codes = Counter(console.events(key))
    assert (codes["stop_requested"], codes["stopped"]) == (1, 1)


def test_twenty_stops_at_the_very_moment_of_the_end(console):
    chance = random.Random(14)
    keys = [console.submit("sleep 1", stop_grace_seconds=0) for _ in range(20)]
    early = [chance.uniform(-0.3, 0.3) for _ in keys]

    def stop_at_the_end(key, early):
        started = console.wait_state(key, "running", *ENDED)["started_at"]
        time.sleep(max(0.0, moment(started).timestamp() + 1 - early - time.time()))
        stop(console, key)
        return console.wait_end(key)

    with ThreadPoolExecutor(10) as threads:
        jobs = list(threads.map(stop_at_the_end, keys, early))
    for job in jobs:
        assert ends(console, job["id"]) == [job["state"]]
        asked = job["stop_requested_at"] and moment(job["stop_requested_at"])
        if job["state"] == "succeeded":
            assert (job["exit_code"], job["reason"]) == (0, None)
            assert asked is None or moment(job["ended_at"]) <= asked
        else:
            assert (job["state"], job["reason"]["code"]) == ("stopped", "stopped_by_user")
            assert moment(job["ended_at"]) >= asked
    time.sleep(1.5)
    assert [console.job(key) for key in keys] == jobs


def kill_worker(console):
    console.kill_parts("--queues=state,engine")


def test_the_worker_is_killed_while_it_deploys(console, word):
    fields = {"framework": "pytorch_ddp", "worker_count": 8, "mounts": [console.volume_mount()]}
    caught, keys = 0, []
    for _ in range(4):
        key = console.submit(NOTE.format(word=word) + "sleep 0.5", **fields)
        keys.append(key)
        while console.job(key)["state"] == "queued":
            time.sleep(0.01)
        kill_worker(console)
        caught += console.job(key)["state"] == "deploying"
    begun = time.monotonic()
    jobs = [console.wait_end(key) for key in keys]
    assert time.monotonic() - begun < 120
    assert caught > 0, "no job was deploying when the worker was killed"
    assert [(job["state"], job["attempt"]) for job in jobs] == [("succeeded", 1)] * 4
    assert ran(console, word) == {f"{key} {rank}": 1 for key in keys for rank in range(8)}


def test_waiting_jobs_start_after_all_messages_are_gone(console, word):
    full = console.submit("sleep 3", spec=console.spec(8), worker_count=4)
    console.wait_state(full, "running")
    waiting = [console.submit("echo started", spec=console.spec(8)) for _ in range(3)]
    with redis.Redis(unix_socket_path=str(socket_path(console.data_dir))) as server:
        assert server.flushall()
    assert {console.job(key)["state"] for key in waiting} == {"queued"}
    for key in [full, *waiting]:
        assert console.wait_end(key)["state"] == "succeeded"
    assert [console.log(key) for key in waiting] == ["started\n"] * 3


def test_the_logs_of_all_attempts_stay(console):
    command = (
        "echo attempt-line $RANK; for i in $(seq 300); do echo $RANK $i; done; sleep $((RANK + 1)); exit 1"
    )
    again = {"auto_restart": True, "max_restarts": 2, "framework": "pytorch_ddp", "worker_count": 2}
    key = console.submit(command, **again)

    def log(attempt, rank):
        return console.call("GET", f"jobs/{key}/workers/{rank}/log/?attempt={attempt}")

    whole = [f"attempt-line {r}\n" + "".join(f"{r} {i}\n" for i in range(1, 301)) for r in (0, 1)]
    wait_until(lambda: console.job(key)["attempt"] == 2 and log(2, 1) == whole[1], "the second attempt runs")
    assert console.job(key)["state"] in ("running", "deploying")
    assert [log(1, 0), log(1, 1)] == whole
    job = console.wait_end(key)
    assert (job["state"], job["attempt"], job["restarts"], job["exit_code"]) == ("failed", 3, 2, 1)
    for attempt in (1, 2, 3):
        for rank in (0, 1):
            assert log(attempt, rank) == whole[rank]
            name, data = download(console, key, attempt, rank)
            assert data.decode() == whole[rank]
            assert all(part in name for part in (key, f"run{attempt}", f"worker-{rank}")), name


def download(console, key, attempt, rank):
    """The name that is given to a downloaded log, and its bytes."""
    path = f"jobs/{key}/workers/{rank}/log/download/?attempt={attempt}"
    headers = {"Authorization": f"Token {console.token('alice')}"}
    asked = urllib.request.Request(f"{console.address}/api/v1/{path}", headers=headers)
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return answer.headers["Content-Disposition"], answer.read()
