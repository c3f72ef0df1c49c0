"""Ends of jobs while alerts of them go to a receiver that accepts connections and never answers, against the
same without alerts.

Jobs that run are ended one by one, by `lifecycle.move`, which writes state and event and frees the GPUs. In
turns their rules ask for an alert and the console's beat and workers (state and slow) tell and send, or there
is no rule and those processes stand still.
"""

from __future__ import annotations

import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO

from celery import Celery
from django.core.management import call_command

import bench.ready  # noqa: F401
from alerts.models import Channel, Delivery, Notice, Rule
from alerts.rules import Subject
from bench.cycle_data import fill
from bench.goals import Result
from bench.moves import wait_for_worker
from console.runner import plan, redis_server
from console.runner.config import read_config
from console.runner.processes import tie_to_parent
from console.runner.supervisor import Supervisor
from jobs.lifecycle import move
from jobs.models import Job, JobEvent
from jobs.scheduling import queue_cycle
from jobs.states import State
from pools.models import Hold
from teams.models import User
from teams.vault import encrypt

JOBS, ROUNDS, GPUS = 200, 6, 8
CELERY = (sys.executable, "-m", "celery", "-A", "console")
WORKER = ("worker", "--pool=threads", "--without-mingle", "--without-gossip", "--concurrency=8")


def main() -> None:
    call_command("migrate", verbosity=0)
    jobs = JOBS * ROUNDS * 2
    pool_id = fill(jobs, -(-jobs // GPUS), GPUS)
    if queue_cycle(pool_id) != jobs:
        raise SystemExit("the jobs do not start")
    ids = list(Job.objects.order_by("pk").values_list("pk", flat=True))
    move(ids, State.DEPLOYING, State.RUNNING)
    JobEvent.objects.update(to_tell=False)
    plain, told = [], []
    with dead_receiver() as url, processes() as running:
        channel = channel_to(url)
        for _ in range(ROUNDS):
            plain.append(timed([ids.pop() for _ in range(JOBS)]))
            JobEvent.objects.update(to_tell=False)  # nobody told of them
            mine = [ids.pop() for _ in range(JOBS)]
            asked = {"channel": channel, "author": channel.owner, "events": ["succeeded"]}
            Rule.objects.bulk_create(Rule(**asked, subject=Subject.JOB, subject_id=pk) for pk in mine)
            signal_all(running, signal.SIGCONT)
            told.append(timed(mine))
            wait_until_told(running)
            signal_all(running, signal.SIGSTOP)
    check(jobs)
    with_alerts, without = statistics.median(told), statistics.median(plain)
    note = (
        f"{with_alerts * 1000:.2f} ms an end, {without * 1000:.2f} ms without, medians of {ROUNDS} × {JOBS}"
    )
    print(Result("alerts", with_alerts / without, 1.1, at_most=True, note=note).line())


def timed(jobs: Sequence[int]) -> float:
    """Seconds that the end of one of the jobs takes, the median."""
    times = []
    for pk in jobs:
        begun = time.perf_counter()
        moved = move([pk], State.RUNNING, State.SUCCEEDED)
        times.append(time.perf_counter() - begun)
        if moved != [pk]:
            raise SystemExit("a job does not run")
    return statistics.median(times)


def check(jobs: int) -> None:
    """Both sides did their work: all GPUs are free, and all alerts are on their way, none of them there."""
    if Hold.objects.exists():
        raise SystemExit("GPUs are held by jobs that have ended")
    if Notice.objects.filter(codes=["succeeded"], deliveries__isnull=False).count() != jobs // 2:
        raise SystemExit("not all ends were told of")
    if (
        not Delivery.objects.filter(tries__gt=0).exists()
        or Delivery.objects.exclude(state="waiting").exists()
    ):
        raise SystemExit("nothing was sent, or something arrived")
    call_command("recount", stdout=StringIO())


def channel_to(url: str) -> Channel:
    owner = User.objects.get()
    return Channel.objects.create(owner=owner, name="dead", kind="webhook", target=encrypt(url), shown=url)


@contextmanager
def dead_receiver() -> Iterator[str]:
    """The kernel accepts connections, and nobody reads them."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"


@contextmanager
def processes() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Beat and the workers that tell and send, with a Redis of their own, standing still."""
    config = read_config(os.environ | {"REDIS_URL": ""})
    config.log_dir.mkdir(exist_ok=True)
    supervisor = Supervisor(config.log_dir, lambda line: None)
    running: list[subprocess.Popen[bytes]] = []
    try:
        url = redis_server.start(supervisor, config, plan.child_environment(config, os.environ, ""))
        env = plan.child_environment(config, os.environ, url) | {"ALERT_ALLOWED_NETWORKS": "127.0.0.0/8"}
        running += [
            start(env, *WORKER, f"--queues={name}", f"--hostname={name}@%h") for name in ("state", "slow")
        ]
        wait_for_worker(Celery(broker=url.replace("unix://", "redis+socket://", 1)))
        running.append(start(env, "beat", "--scheduler=celery.beat:Scheduler", "--pidfile="))
        signal_all(running, signal.SIGSTOP)
        yield running
    finally:
        signal_all(running, signal.SIGKILL)
        for process in running:
            process.wait()
        supervisor.stop()
        redis_server.clean(config.data_dir)


def start(env: dict[str, str], *words: str) -> subprocess.Popen[bytes]:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([*CELERY, *words], env=env, preexec_fn=tie_to_parent(signal.SIGKILL), **quiet)


def signal_all(running: Sequence[subprocess.Popen[bytes]], number: signal.Signals) -> None:
    for process in running:
        process.send_signal(number)


def wait_until_told(running: Sequence[subprocess.Popen[bytes]]) -> None:
    """The round is over when its last event was told, so that none is left for the next one."""
    until = time.monotonic() + 60
    while JobEvent.objects.filter(to_tell=True).exists():
        if time.monotonic() > until or any(process.poll() is not None for process in running):
            raise SystemExit("what happened is not told")
        time.sleep(0.1)


if __name__ == "__main__":
    main()
