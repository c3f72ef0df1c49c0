"""Real arrivals on real nodes in simulated time through the real queue, in both disciplines.

No GPU is ever given twice, and nobody is overtaken who may not be: the run ends at the first time. Printed
beside it: how much of the GPU time was used until the last arrival, and how long jobs waited.
"""

from __future__ import annotations

import statistics
import time

from bench.goals import Result
from bench.replay_data import arrivals_read, kinds_read
from bench.replay_run import Outcome, Replay

JOBS, LOAD = 5_000, 8.0  # at 8, hours of long jobs pile up: some flavors are full, others are not


def main() -> None:
    kinds = kinds_read()
    gpus = sum(kind.gpus for kind in kinds.values())
    arrivals = arrivals_read(kinds, JOBS, LOAD)
    for name, strict in (("replay-strict", True), ("replay-best-effort", False)):
        begun = time.perf_counter()
        outcome = Replay(kinds, strict=strict).run(arrivals)
        assert len(outcome.starts) == len(outcome.waits) == JOBS, "each job starts once"
        print(line(name, outcome, gpus, time.perf_counter() - begun))


def line(name: str, outcome: Outcome, gpus: int, taken: float) -> str:
    """The replay ends at the first over-commit, so that who comes here has seen none."""
    waits = list(outcome.waits.values())
    used = outcome.gpu_seconds / (gpus * outcome.until)
    median, p95 = statistics.median(waits), statistics.quantiles(waits, n=20)[-1]
    note = f"{used:.1%} of {gpus} GPUs used, waits median {median / 60:.1f} min, p95 {p95 / 60:.1f} min"
    note += f", {len(waits)} jobs on {len(waits) / taken:.0f}/s"
    return Result(name, 0, 0, at_most=True, unit=" GPUs given twice", note=note).line()


if __name__ == "__main__":
    main()
