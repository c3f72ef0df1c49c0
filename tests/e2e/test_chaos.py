"""Two hundred jobs, while workers, beat, Redis and supervisors are killed and nodes come and go."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any

import pytest

from tests.e2e.chaos import Asked, Breaker, dump, jobs_create, left_processes, supervisors
from tests.e2e.stack import ENDED, Console, wait_until

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(420)]
SEED, PATIENCE_S = 7, 240.0
PACE_S, SUPERVISORS_S = 3.0, 2.0  # between two things that break, and between two killed supervisors
LIVE = "jobs/?state=queued,deploying,running"


def test_every_job_ends_as_it_should_whatever_is_killed(tmp_path):
    chance = random.Random(SEED)
    with Console(tmp_path / "data", RESTART_PAUSE_SECONDS="0.5") as console:
        ran = console.data_dir / "volumes"
        body = console.volume_mount()
        console.run("mkdir -p /mnt/public/chaos; : > /mnt/public/chaos/ran", mounts=[body])
        breaker = Breaker(console, chance)
        try:
            asked = jobs_create(console, chance)
            _break(console, breaker, asked)
            _wait_for_all(console, breaker)
        finally:
            breaker.close()
        lines = next(ran.rglob("chaos/ran")).read_text().splitlines()
        found = dump(console)
        keys = {job.key for job in asked}
        wait_until(lambda: not left_processes(keys) and not supervisors(console), "no process is left", 15)
        wrong = [line for job in asked for line in _wrong(job, _of(found, job.key), breaker.lost, lines)]
        assert not wrong, "\n".join([*wrong, *breaker.done])
        assert {line.split()[0] for line in lines} <= keys
        assert len(breaker.lost) >= 4, breaker.done  # or it was a quiet day, and nothing is proven
        assert sum("killed [" in told and "[]" not in told for told in breaker.done) >= 5, breaker.done
        assert found["holds"] == 0
        assert "all counts are right" in console.manage("recount")
        assert console.idle_gpus() == 32


def _break(console: Console, breaker: Breaker, asked: list[Asked]) -> None:
    """Goes through the script at its pace, and asks for the stops when they are due."""
    stops = sorted((job.stop_at, job.key) for job in asked if job.stop_at is not None)
    script, next_at, next_supervisor = breaker.script(), time.monotonic(), time.monotonic()
    while script or stops:
        if next_supervisor <= time.monotonic():
            breaker.break_one("supervisor")
            next_supervisor = time.monotonic() + SUPERVISORS_S
        elif stops and stops[0][0] <= time.monotonic():
            console.call("POST", f"jobs/{stops.pop(0)[1]}/stop/")
        elif script and next_at <= time.monotonic():
            breaker.break_one(script.pop(0))
            next_at = time.monotonic() + PACE_S
        time.sleep(0.02)
    breaker.set_nodes("all", "ready")


def _wait_for_all(console: Console, breaker: Breaker) -> None:
    def all_ended() -> bool:
        time.sleep(0.5)
        return console.call("GET", LIVE)["results"] == []

    def diagnosis() -> str:
        left = [job for job in dump(console)["jobs"] if job["state"] not in ENDED]
        shown = "\n".join(str(job) for job in left[:20])
        output = console.output.read_text()[-3000:]
        return f"{len(left)} jobs live\n{shown}\n{breaker.done}\n{output}"

    wait_until(all_ended, "all jobs end", PATIENCE_S, show=diagnosis)


def _of(found: dict[str, Any], key: str) -> dict[str, Any]:
    job: dict[str, Any] = next(job for job in found["jobs"] if job["key"] == key)
    return job


def _wrong(asked: Asked, job: dict[str, Any], lost: set[tuple[str, int, int]], lines: list[str]) -> list[str]:
    """What is not as it should be, each with the job."""
    complaints = [*_wrong_end(asked, job, lost), *_wrong_history(job), *_wrong_runs(job, lost, lines)]
    return [f"{asked.kind.name}: {complaint}: {job}" for complaint in complaints]


def _wrong_end(asked: Asked, job: dict[str, Any], lost: set[tuple[str, int, int]]) -> list[str]:
    kind, code = asked.kind, (job["reason"] or {}).get("code")
    if code == "worker_lost":
        killed = {(key, attempt) for key, attempt, _ in lost}
        told = [] if (job["key"], job["attempt"]) in killed else ["lost, and nobody killed its supervisor"]
        return told + ([] if job["state"] == "failed" else ["lost, and not failed"])
    wrong = [] if job["state"] in kind.states else [f"ended as {job['state']}"]
    if kind.code is not None and code != kind.code:
        wrong.append(f"for the reason {code}")
    if kind.exit_code is not None and job["state"] != "stopped" and job["exit_code"] != kind.exit_code:
        wrong.append(f"exit code {job['exit_code']}")
    if kind.restarts is not None and job["restarts"] != kind.restarts:
        wrong.append(f"{job['restarts']} restarts")
    return wrong


def _wrong_history(job: dict[str, Any]) -> list[str]:
    """Each job ends once, nothing moves it afterwards, and each attempt is placed once."""
    counts = Counter(job["events"])
    ends = [code for code in job["events"] if code in ENDED]
    attempts = [int(number) for number in job["attempts"]]
    checks = {
        "ends": ends == [job["state"]] and job["events"][-1] == job["state"],
        "one stop request": counts["stop_requested"] <= 1,
        "restarts told": counts["restarted"] == job["restarts"] <= 2,
        "attempts": sorted(attempts) == list(range(1, job["attempt"] + 1)),
        "placed once each": counts["deploying"] == job["attempt"] <= job["restarts"] + 1,
        "runs at most once each": counts["running"] <= job["attempt"],
        "ended attempts": all(attempt["ended"] != "None" for attempt in job["attempts"].values()),
        "no step is left": job["deploy_step"] == "",
    }
    return [f"not so: {name}" for name, good in checks.items() if not good]


def _wrong_runs(job: dict[str, Any], lost: set[tuple[str, int, int]], lines: list[str]) -> list[str]:
    """A Worker whose command ended by itself ran it once; one that was ended ran it once at most."""
    ran = Counter(line for line in lines if line.startswith(f"{job['key']} "))
    wrong = []
    for number, attempt in job["attempts"].items():
        for worker in attempt["workers"]:
            times = ran.pop(f"{job['key']} {number} {worker['rank']}", 0)
            by_itself = worker["exit_code"] is not None
            if times > 1 or (by_itself and times != 1):
                wrong.append(f"attempt {number} of Worker {worker['rank']} ran {times} times")
    return wrong + [f"a run that nobody knows of: {line}" for line in ran]
