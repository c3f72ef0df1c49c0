"""What the form's recompute costs while slow readers download from the same console, against without them."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

from bench.client import Client
from bench.goals import Result
from tests.e2e.readers import SlowReaders, signed_address
from tests.e2e.stack import Console
from tests.jobs.pages import Page

READERS, ROUNDS, ROUND_S = 20, 8, 3.0
LONG_LOG = "head -c 48M /dev/urandom | base64 -w 0"  # 64 MiB
FILLED = {
    "worker_count": "2",
    "framework": "pytorch_ddp",
    "command": "set -euo pipefail\ncd /mnt/public/project\nexec torchrun train.py --resume\n",
    "name": "llama-pretrain",
    "description": "the third try",
    "tags": "llama, 7b",
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Console(Path(folder) / "data") as console:
        key = console.run(LONG_LOG)["id"]
        print(measure(console, key, READERS, ROUNDS, ROUND_S).line())


def measure(console: Console, key: str, readers: int, rounds: int, seconds: float) -> Result:
    """Both sides by turns, so that what else the machine does meets both."""
    form = Form(console)
    form.recompute()
    without: list[float] = []
    beside: list[float] = []
    for _ in range(rounds):
        without += form.recompute_for(seconds)
        with SlowReaders(signed_address(console, key), readers):
            beside += form.recompute_for(seconds)
    with_p99, p99 = percentile(beside, 0.99), percentile(without, 0.99)
    note = (
        f"p99 {with_p99 * 1000:.0f} ms beside {readers} slow downloads ({len(beside)} requests), "
        f"{p99 * 1000:.0f} ms without ({len(without)})"
    )
    return Result("downloads", with_p99 / p99, 2.0, at_most=True, note=note)


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


class Form:
    """The create-job form of somebody who has signed in and filled it, on a connection that stays open."""

    def __init__(self, console: Console) -> None:
        self._client = Client(console.port)
        page = Page(SimpleNamespace(content=self._client.ask("GET", "/jobs/create/")))  # type: ignore[arg-type]
        self._body = page.fields() | {"spec": [str(console.spec(1))]} | {k: [v] for k, v in FILLED.items()}

    def recompute_for(self, seconds: float) -> list[float]:
        """The times of as many recomputes as fit, one after the other."""
        until = time.perf_counter() + seconds
        times = []
        while time.perf_counter() < until:
            times.append(self.recompute())
        return times

    def recompute(self) -> float:
        """Seconds from a change on the form to the whole new part."""
        begun = time.perf_counter()
        self._client.post("/jobs/estimate/", self._body)
        return time.perf_counter() - begun


if __name__ == "__main__":
    main()
