"""Jobs whose commands have ended, brought to their end by a real Celery worker: many by one task against
one task for each.

A command is really run once; what its supervisor left behind is copied for every job, and the rows are as
they are while jobs run. The console's worker, started as `make run` starts it with a Redis of its own, then
does all that follows from an end: looks, the rows of Workers, attempts and jobs, events, freed GPUs, cycles.
"""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

from celery import Celery
from django.conf import settings
from django.core.management import call_command

import bench.ready  # noqa: F401
from bench.cycle_data import fill
from bench.goals import Result
from console.runner import plan, redis_server
from console.runner.config import read_config
from console.runner.supervisor import Supervisor
from engines.base import AttemptKey, Launch, Phase, WorkerLaunch, WorkerLook
from jobs.lifecycle import move
from jobs.models import Attempt, Job, Worker
from jobs.scheduling import queue_cycle
from jobs.states import State
from pools.models import Hold
from runs.registry import engine_of
from runs.stages import Deployment, steps_begun

ALONE, TOGETHER, ROUNDS, GPUS = 100, 2_000, 3, 8
PATIENCE_S = 60.0


def main() -> None:
    call_command("migrate", verbosity=0)
    jobs = (ALONE + TOGETHER) * ROUNDS
    pool_id = fill(jobs, -(-jobs // GPUS), GPUS)
    if queue_cycle(pool_id) != jobs:
        raise SystemExit("the jobs do not start")
    keys = run_all(pool_id)
    alone, together = [], []
    with celery_worker() as sender:
        for _ in range(ROUNDS):
            one, many = [keys.pop() for _ in range(ALONE)], [keys.pop() for _ in range(TOGETHER)]
            alone.append(timed(sender, [[pk] for pk in one], one) / ALONE)
            together.append(timed(sender, [many], many) / TOGETHER)
    if Hold.objects.exists():
        raise SystemExit("GPUs are held by jobs that have ended")
    call_command("recount", stdout=StringIO())
    each, batch = statistics.median(alone), statistics.median(together)
    note = f"{batch * 1000:.2f} ms a job in a task of {TOGETHER}, {each * 1000:.1f} ms with a task for each"
    print(Result("moves", each / batch, 20, at_most=False, note=f"{note}, median of {ROUNDS}").line())


def run_all(pool_id: int) -> list[int]:
    """Makes all placed jobs run, and then lets their commands have ended; their ids."""
    looks, folder = run_one()
    jobs = list(
        Job.objects.filter(pool=pool_id, state=State.DEPLOYING).order_by("pk").values_list("pk", "key")
    )
    for _, key in jobs:
        shutil.copytree(folder, settings.RUNS_DIR / key / "1")
    begun = Deployment(begun=steps_begun(looks, 1)).as_json()
    placed = Attempt.objects.values_list("placed_at", flat=True)[0]
    Worker.objects.update(started_at=placed)
    Attempt.objects.update(started_at=placed, deployment=begun)
    move([pk for pk, _ in jobs], State.DEPLOYING, State.RUNNING)
    return [pk for pk, _ in jobs]


def run_one() -> tuple[Sequence[WorkerLook], Path]:
    """The end of a command, and the folder that tells of it."""
    engine, key = engine_of("local"), AttemptKey("jo-0000000000000000", 1)
    worker = WorkerLaunch(rank=0, hostname="w", gpus=(0,), env={}, shm_bytes=2**20)
    engine.start(Launch(key, "echo hello", "host", (), (worker,)))
    until = time.monotonic() + 30
    while not ((looks := engine.look([key])[key]) and looks[0].phase == Phase.EXITED):
        if time.monotonic() > until:
            raise SystemExit("the command does not end")
        time.sleep(0.05)
    time.sleep(0.5)  # its supervisor tidies up
    return looks, Path(settings.RUNS_DIR) / key.job / "1"


@contextmanager
def celery_worker() -> Iterator[Celery]:
    """Who sends tasks to the worker of the queues `state` and `engine`, as the runner starts it; no beat."""
    config = read_config(os.environ | {"REDIS_URL": ""})
    config.log_dir.mkdir(exist_ok=True)
    supervisor = Supervisor(config.log_dir, lambda line: None)
    try:
        url = redis_server.start(supervisor, config, plan.child_environment(config, os.environ, ""))
        env = plan.child_environment(config, os.environ, url)
        supervisor.add(next(child for child in plan.children(config, env) if child.name == "worker"))
        sender = Celery(broker=url.replace("unix://", "redis+socket://", 1))
        wait_for_worker(sender)
        yield sender
    finally:
        supervisor.stop()
        redis_server.clean(config.data_dir)


def wait_for_worker(sender: Celery) -> None:
    until = time.monotonic() + 60
    while not sender.control.ping(timeout=0.5):
        if time.monotonic() > until:
            raise SystemExit("the worker does not answer")


def timed(sender: Celery, tasks: Sequence[list[int]], jobs: Sequence[int]) -> float:
    """Seconds from sending the first task until all jobs have succeeded."""
    begun = time.perf_counter()
    for ids in tasks:
        sender.send_task("runs.tasks.engine_attend", args=(ids,), ignore_result=True, queue="engine")
    mine = Job.objects.filter(pk__in=jobs, state=State.SUCCEEDED)
    while mine.count() < len(jobs):
        if time.perf_counter() - begun > PATIENCE_S:
            raise SystemExit(f"{mine.count()} of {len(jobs)} jobs ended in {PATIENCE_S:g} s")
        time.sleep(0.02)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
