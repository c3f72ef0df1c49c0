"""From the submission of a one-Worker job to `running`, on an idle pool of the real console."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from bench.goals import Result
from tests.e2e.stack import Console

ROUNDS, POLL_S = 20, 0.02


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Console(Path(folder) / "data") as console:
        body = console.offer() | {"command": "sleep 60", "stop_grace_seconds": 0}
        times = [one(console, body) for _ in range(ROUNDS)]
    note = f"slowest {max(times):.2f} s, median of {ROUNDS}"
    print(Result("submit", statistics.median(times), 2.0, at_most=True, unit="s", note=note).line())


def one(console: Console, body: dict[str, object]) -> float:
    """Seconds from sending the request to reading `running`; the job is ended afterwards."""
    begun = time.perf_counter()
    key = console.call("POST", "jobs/", body)["id"]
    while console.job(key)["state"] != "running":
        time.sleep(POLL_S)
    taken = time.perf_counter() - begun
    console.call("POST", f"jobs/{key}/stop/")
    console.wait_end(key)
    return taken


if __name__ == "__main__":
    main()
