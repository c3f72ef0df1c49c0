"""A browser that has signed in and filled the create form, on a connection that stays open."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http.cookies import SimpleCookie
from itertools import count, cycle
from types import SimpleNamespace
from urllib.parse import urlencode

from tests.jobs.pages import Page

PATIENCE_S = 60.0
FILLED = {
    "framework": "pytorch_ddp",
    "command": "set -euo pipefail\ncd /mnt/public/project\nexec torchrun --nnodes=$WORLD_SIZE"
    " --nproc_per_node=8 --node_rank=$RANK --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT"
    " train.py --resume --seed=",
    "name": "llama-pretrain",
    "description": "the third try",
    "tags": "llama, 7b",
}


class Client:
    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        self._cookies: SimpleCookie = SimpleCookie()
        self.ask("GET", "/accounts/login/")
        self.post("/accounts/login/", {"username": "alice", "password": "demo", "next": "/jobs/"}, 302)

    @staticmethod
    def wait_for(port: int) -> None:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            with suppress(OSError):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
                connection.request("GET", "/accounts/login/")
                if connection.getresponse().status == 200:
                    return
            time.sleep(0.1)
        raise SystemExit("the server does not answer")

    def recompute(self, pool: int, counts: Sequence[int]) -> Callable[[], None]:
        """Sends the filled form of the pool, for Workers of 8 GPUs, as many as `counts` say by turns. As if
        somebody were typing, no two requests have the same command."""
        page = Page(SimpleNamespace(content=self.ask("GET", f"/jobs/create/?pool={pool}")))  # type: ignore[arg-type]
        cards = [e.attrs["value"] for e in page.all("input", name="spec")]
        body = page.fields() | {name: [value] for name, value in FILLED.items()} | {"spec": [cards[-1]]}
        turns, workers = count(1), cycle(counts)

        def typed() -> None:
            body["command"] = [f"{FILLED['command']}{next(turns)}\n"]
            body["worker_count"] = [str(next(workers))]
            self.post("/jobs/estimate/", body)

        return typed

    def post(self, path: str, fields: Mapping[str, object], status: int = 200) -> None:
        token = {"csrfmiddlewaretoken": self._cookies["csrftoken"].value}
        self.ask("POST", path, urlencode({**fields, **token}, doseq=True), status)

    def ask(self, method: str, path: str, body: str | None = None, status: int = 200) -> bytes:
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
