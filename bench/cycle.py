"""A durable queue cycle of many waiting jobs against the same rows written by raw bulk SQL.

Both sides start from the same database: jobs of one GPU waiting, all nodes idle. Both write, in
transactions of as many starts, the same rows of the same tables with the same constraints: the
job's state, its event, attempt, Worker, hold, the nodes' and flavor's idle counts, the waiting total
and the team's held GPUs. The raw side decides nothing and reads nothing back.
"""

from __future__ import annotations

import statistics
import time
from io import StringIO

from django.core.management import call_command

import bench.ready  # noqa: F401
from bench.cycle_data import fill, reset
from bench.cycle_raw import write_raw
from bench.goals import Result
from jobs.models import Job
from jobs.scheduling import queue_cycle
from pools.models import Hold

JOBS, NODES, GPUS, ROUNDS = 10_000, 1_250, 8, 5


def main() -> None:
    call_command("migrate", verbosity=0)
    pool_id = fill(JOBS, NODES, GPUS)
    ours: list[float] = []
    raw: list[float] = []
    for _ in range(ROUNDS):
        for write, times in ((queue_cycle, ours), (write_raw, raw)):
            reset(pool_id)
            begun = time.perf_counter()
            write(pool_id)
            times.append(time.perf_counter() - begun)
            check()
    mine, theirs = statistics.median(ours), statistics.median(raw)
    note = f"{JOBS / mine:.0f} jobs/s, raw {JOBS / theirs:.0f} jobs/s, median of {ROUNDS}"
    print(Result("cycle", theirs / mine, 0.5, at_most=False, note=note).line())


def check() -> None:
    """Both sides must have done the whole work."""
    placed = Job.objects.filter(state="deploying").count()
    holds = Hold.objects.count()
    if (placed, holds) != (JOBS, JOBS):
        raise SystemExit(f"{placed} jobs placed, {holds} GPUs held, wanted {JOBS} of each")
    call_command("recount", stdout=StringIO())


if __name__ == "__main__":
    main()
