"""What the form's full recompute costs, against a POST of the same server that answers a constant.

All kinds of requests are sent by turns, one of each in a random order, to one worker process of granian, as
`make run` starts it: so all find the processor's caches as the others left them. Of each round the median of
the time and the mean of that worker's processor time are taken, and of the rounds the median.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psutil
from django.core.management import call_command
from django.db import connection

import bench.ready  # noqa: F401
from bench.client import Client
from bench.goals import Result
from bench.recompute_data import fill
from bench.recompute_server import CONSTANT
from tests.e2e.stack import free_pair

LARGE, SMALL = 10_000, 10
FEW, MANY = 4, 1024
ROUNDS, REQUESTS = 7, 120
PAUSE_S = 0.0005


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one request, in seconds: as the client waits, and of the worker's processor."""

    waited: float
    cpu: float


def main() -> None:
    call_command("migrate", verbosity=0)
    large, small = fill(LARGE, SMALL)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
    connection.close()
    port = free_pair()
    with served(port) as clock:
        client = Client(port)
        kinds = {
            "constant": lambda: client.post(CONSTANT, {}),
            "large": client.recompute(large, [FEW]),
            "small": client.recompute(small, [FEW]),
            "many": client.recompute(large, [MANY]),
            "counts": client.recompute(large, range(1, MANY)),
        }
        costs = measure(kinds, clock)
    for result in results(costs):
        print(result.line())


@contextmanager
def served(port: int) -> Any:
    """The clock of the worker process of a granian that serves the console."""
    command = (
        *(sys.executable, "-m", "granian", "--interface", "wsgi", "bench.recompute_server:application"),
        *("--host", "127.0.0.1", "--port", str(port), "--workers", "1", "--blocking-threads", "8", "--no-ws"),
    )
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            Client.wait_for(port)
            yield clock_of(psutil.Process(server.pid).children()[0].pid)
        finally:
            server.terminate()


def measure(kinds: Mapping[str, Callable[[], None]], clock: int) -> dict[str, Cost]:
    chance = random.Random(ROUNDS)
    one_round(kinds, clock, chance)  # the first ones read templates and open connections
    rounds = [one_round(kinds, clock, chance) for _ in range(ROUNDS)]
    return {
        name: Cost(
            statistics.median(costs[name].waited for costs in rounds),
            statistics.median(costs[name].cpu for costs in rounds),
        )
        for name in kinds
    }


def one_round(kinds: Mapping[str, Callable[[], None]], clock: int, chance: random.Random) -> dict[str, Cost]:
    found: dict[str, list[Cost]] = {name: [] for name in kinds}
    for _ in range(REQUESTS):
        for name in chance.sample(sorted(kinds), len(kinds)):
            before, begun = time.clock_gettime(clock), time.perf_counter()
            kinds[name]()
            waited = time.perf_counter() - begun
            found[name].append(Cost(waited, _when_still(clock) - before))
    return {
        name: Cost(statistics.median(c.waited for c in costs), statistics.mean(c.cpu for c in costs))
        for name, costs in found.items()
    }


def _when_still(clock: int) -> float:
    """The processor time once the worker has done what it does after its answer."""
    before, now = -1.0, time.clock_gettime(clock)
    while now != before:
        time.sleep(PAUSE_S)
        before, now = now, time.clock_gettime(clock)
    return now


def clock_of(pid: int) -> int:
    """The clock of the processor time that a process has taken, as clock_getcpuclockid(3) makes it."""
    return (~pid << 3) | 2


def results(costs: Mapping[str, Cost]) -> list[Result]:
    constant, large = costs["constant"], costs["large"]
    small, many = costs["small"], costs["many"]
    note = f"{large.waited * 1000:.1f} ms, the constant {constant.waited * 1000:.1f} ms"
    return [
        Result("recompute", large.waited / constant.waited, 3.0, at_most=True, note=note),
        Result(
            *("recompute-cpu", large.cpu / constant.cpu, 3.0),
            at_most=True,
            note=f"{large.cpu * 1000:.1f} ms, the constant {constant.cpu * 1000:.1f} ms",
        ),
        Result(
            *("recompute-counts", costs["counts"].waited / constant.waited, 3.5),
            at_most=True,
            note=f"{costs['counts'].waited * 1000:.1f} ms, where each changes the number of Workers too",
        ),
        Result(
            *("recompute-nodes", large.waited / small.waited, 1.15),
            at_most=True,
            note=f"{LARGE} nodes against {SMALL}, {small.waited * 1000:.1f} ms",
        ),
        Result(
            *("recompute-workers", many.waited / large.waited, 1.3),
            at_most=True,
            note=f"{MANY} Workers against {FEW}, {many.waited * 1000:.1f} ms",
        ),
    ]


if __name__ == "__main__":
    main()
