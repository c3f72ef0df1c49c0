"""What the form's recompute costs while slow readers download from the same console, against without them."""

from __future__ import annotations

import http.client
import tempfile
import time
from http.cookies import SimpleCookie
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlencode

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
        self._connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=60)
        self._cookies: SimpleCookie = SimpleCookie()
        self._ask("GET", "/accounts/login/")
        self._post("/accounts/login/", {"username": "alice", "password": "demo", "next": "/jobs/"}, 302)
        page = Page(SimpleNamespace(content=self._ask("GET", "/jobs/create/")))  # type: ignore[arg-type]
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
        self._post("/jobs/estimate/", self._body, 200)
        return time.perf_counter() - begun

    def _post(self, path: str, fields: dict[str, object], status: int) -> None:
        token = {"csrfmiddlewaretoken": self._cookies["csrftoken"].value}
        self._ask("POST", path, urlencode(fields | token, doseq=True), status)

    def _ask(self, method: str, path: str, body: str | None = None, status: int = 200) -> bytes:
        headers = {"Cookie": "; ".join(f"{name}={m.value}" for name, m in self._cookies.items())}
        if body is not None:
            headers |= {"Content-Type": "application/x-www-form-urlencoded", "HX-Request": "true"}
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        data = answer.read()
        assert answer.status == status, f"{method} {path}: {answer.status} {data[:2000]!r}"
        for cookie in answer.headers.get_all("Set-Cookie", []):
            self._cookies.load(cookie)
        return data


if __name__ == "__main__":
    main()
