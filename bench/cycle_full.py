"""A queue cycle on a full cluster that can start nothing, with 1,000 and with 20,000 waiting jobs.

Two pools in one database, each of so many nodes with a running job on every one. In both, jobs of the same
classes wait; in one there are twenty times as many of each. Rounds of the two alternate.
"""

from __future__ import annotations

import statistics
import time

from django.core.management import call_command
from django.db import connection

import bench.ready  # noqa: F401
from bench.cycle_data import fill_behind, fill_full
from bench.goals import Result
from jobs.models import Job
from jobs.scheduling import queue_cycle
from pools.models import Pool
from tests.factories import make_pool, make_team, make_user

FEW, MANY, NODES, ROUNDS = 1_000, 20_000, 125, 60
TEAMS = 4


def main() -> None:
    call_command("migrate", verbosity=0)
    teams = [make_team() for _ in range(TEAMS)]
    users = [make_user(team) for team in teams]
    few, many = (make_pool(*teams, nodes=NODES) for _ in range(2))
    for pool, waiting in ((few, FEW), (many, MANY)):
        fill_full(users[0], pool, NODES)
        fill_behind(users, pool, jobs=waiting)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")
    times = measure(few, many)
    small, large = statistics.median(times[few.pk]), statistics.median(times[many.pk])
    note = f"{large * 1000:.1f} ms with {MANY} waiting, {small * 1000:.1f} ms with {FEW}, median of {ROUNDS}"
    print(Result("cycle-full", large / small, 1.2, at_most=True, note=note).line())


def measure(few: Pool, many: Pool) -> dict[int, list[float]]:
    times: dict[int, list[float]] = {few.pk: [], many.pk: []}
    for turn in range(ROUNDS + 5):
        for pool in (few, many) if turn % 2 else (many, few):
            begun = time.perf_counter()
            started = queue_cycle(pool.pk)
            taken = time.perf_counter() - begun
            if started:
                raise SystemExit(f"{started} jobs started on a full cluster")
            if turn >= 5:  # the first ones make statements and note the heads
                times[pool.pk].append(taken)
    waiting = [Job.objects.filter(pool=pool, state="queued").count() for pool in (few, many)]
    if waiting != [FEW, MANY]:
        raise SystemExit(f"{waiting} jobs wait, wanted {[FEW, MANY]}")
    return times


if __name__ == "__main__":
    main()
