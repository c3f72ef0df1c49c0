"""The whole console as `make run` starts it, in a folder of its own, and a REST client for it."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psutil
import psycopg

from console.runner.processes import tie_to_parent
from console.runner.readiness import is_healthy
from engines.base import AttemptKey
from engines.local.engine import LocalEngine

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 90.0
ENDED = {"succeeded", "failed", "stopped"}


class Console:
    """Start it, kill parts of it, start it again: its data stays in `data_dir`."""

    def __init__(self, data_dir: Path, **env: str) -> None:
        self.data_dir = data_dir
        self.port = free_pair()
        kept = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL", "SANDBOX")}
        self.server = os.environ.get("DATABASE_URL", "")
        if self.server and "DATABASE_URL" not in env:
            env["DATABASE_URL"] = database_create(self.server)
        self.env = kept | {"DATA_DIR": str(data_dir), "PORT": str(self.port)} | env
        self.output = data_dir.parent / f"{data_dir.name}.out"
        self.runner: psutil.Process | None = None
        self.tokens: dict[str, str] = {}

    def __enter__(self) -> Console:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()
        self.end_jobs()
        if self.server:
            database_drop(self.server, self.env["DATABASE_URL"])

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        with self.output.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "console.runner"],
                cwd=ROOT,
                env=self.env,
                stdout=output,
                stderr=output,
                preexec_fn=tie_to_parent(signal.SIGINT),  # tests that are killed leave no console
            )
        self.runner = psutil.Process(process.pid)
        wait_until(lambda: self._alive(process) and self.answers(), "the console answers", 180)

    def _alive(self, process: subprocess.Popen[bytes]) -> bool:
        assert process.poll() is None, f"the runner ended: {self.output.read_text()[-2000:]}"
        return True

    def answers(self) -> bool:
        """Whether both do: the pages and, on the next port, the downloads."""
        return all(is_healthy(port) for port in (self.port, self.port + 1))

    def parts(self) -> list[psutil.Process]:
        """The runner and all its descendants; jobs' supervisors are none of them."""
        assert self.runner is not None
        return [self.runner, *self.runner.children(recursive=True)]

    def kill_parts(self, word: str) -> list[int]:
        """SIGKILL to those that the runner keeps with the word in their command line; their pids."""
        killed = []
        for part in self.parts()[1:]:
            with suppress(psutil.NoSuchProcess):  # it may have ended just now
                if word in " ".join(part.cmdline()):
                    part.kill()
                    killed.append(part.pid)
        return killed

    def kill(self) -> None:
        """SIGKILL to every process of the console at once: runner, web, workers, beat, Redis."""
        parts = self.parts()
        for part in parts:
            with suppress(psutil.NoSuchProcess):
                part.kill()
        psutil.wait_procs(parts, timeout=10)

    def end_jobs(self) -> None:
        """Jobs outlive their console: ends those that a failed test left running."""
        engine = LocalEngine(self.data_dir / "runs")
        for folder in (self.data_dir / "runs").glob("jo-*/*"):
            engine.stop(AttemptKey(folder.parent.name, int(folder.name)), 0)

    def stop(self) -> None:
        if self.runner is not None and self.runner.is_running():
            self.runner.send_signal(signal.SIGINT)
            self.runner.wait(timeout=60)

    # REST

    def token(self, user: str) -> str:
        if user not in self.tokens:
            answer = self.call("POST", "auth/token/", {"username": user, "password": "demo"}, user=None)
            self.tokens[user] = answer["token"]
        return self.tokens[user]

    def call(self, method: str, path: str, body: Any = None, user: str | None = "alice") -> Any:
        """The decoded answer; text where it is no JSON. AssertionError with the answer for an error."""
        status, headers, data = self.raw(method, path, body, user)
        assert status < 400, f"{method} {path}: {status} {data.decode(errors='replace')[:2000]}"
        return (
            json.loads(data) if "json" in headers.get("Content-Type", "") else data.decode(errors="replace")
        )

    def raw(
        self, method: str, path: str, body: Any = None, user: str | None = "alice"
    ) -> tuple[int, Any, bytes]:
        headers = {"Content-Type": "application/json"}
        if user:
            headers["Authorization"] = f"Token {self.token(user)}"
        data = None if body is None else json.dumps(body).encode()
        url = f"{self.address}/api/v1/{path}"
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def offer(self, user: str = "alice") -> dict[str, Any]:
        """A request for one Worker of one GPU in the demo pool, its ids looked up."""
        pool = self.call("GET", "pools/", user=user)["results"][0]
        spec = next(s for s in pool["specs"] if s["gpus"] == 1)
        image = self.call("GET", f"images/?pool={pool['id']}&service=job", user=user)["results"][0]
        return {"pool": pool["id"], "spec": spec["id"], "image": image["id"], "name": "a job"}

    def spec(self, gpus: int) -> int:
        pool = self.call("GET", "pools/")["results"][0]
        return next(s["id"] for s in pool["specs"] if s["gpus"] == gpus)

    def volume_mount(self, name: str = "") -> dict[str, Any]:
        """Of the volume of that name, or the first."""
        volumes = self.call("GET", "volumes/")["results"]
        volume = next(volume for volume in volumes if name in ("", volume["name"]))
        return {"volume": volume["id"], "mount_path": volume["default_mount_path"]}

    def submit(self, command: str, **fields: Any) -> str:
        return self.call("POST", "jobs/", self.offer() | {"command": command} | fields)["id"]

    def job(self, key: str) -> dict[str, Any]:
        return self.call("GET", f"jobs/{key}/")

    def log(self, key: str, rank: int = 0) -> str:
        return self.call("GET", f"jobs/{key}/workers/{rank}/log/")

    def events(self, key: str) -> list[str]:
        return [event["code"] for event in self.call("GET", f"jobs/{key}/events/")["results"]]

    def wait_state(self, key: str, *states: str) -> dict[str, Any]:
        wait_until(lambda: self.job(key)["state"] in states, f"{key} in {states}", show=lambda: self.job(key))
        return self.job(key)

    def wait_end(self, key: str) -> dict[str, Any]:
        return self.wait_state(key, *ENDED)

    def run(self, command: str, **fields: Any) -> dict[str, Any]:
        return self.wait_end(self.submit(command, **fields))

    def idle_gpus(self) -> int:
        return self.call("GET", "pools/")["results"][0]["idle_gpus"]

    def manage(self, *words: str) -> str:
        """Runs a management command on the console's data."""
        command = [sys.executable, "manage.py", *words]
        done = subprocess.run(command, cwd=ROOT, env=self.env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def database_create(server: str) -> str:
    """An empty database of its own on the PostgreSQL server; its address."""
    name = f"console_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return urlsplit(server)._replace(path=f"/{name}").geturl()


def database_drop(server: str, url: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{urlsplit(url).path[1:]}" WITH (FORCE)')


def free_pair() -> int:
    """A port that is free as the one after it is; none of those that the kernel gives to clients."""
    while True:
        port = random.randrange(20_000, 29_000, 2)
        with socket.socket() as first, socket.socket() as second, suppress(OSError):
            first.bind(("127.0.0.1", port))
            second.bind(("127.0.0.1", port + 1))
            return port


def wait_until(
    condition: Callable[[], bool], what: str, patience: float = PATIENCE_S, show: Callable[[], Any] = str
) -> None:
    until = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < until, f"waited {patience:g} s in vain: {what}; {show()}"
        time.sleep(0.1)


def processes_with(text: str) -> list[psutil.Process]:
    """Processes with a word in their command line, other than this one."""
    found = []
    for process in psutil.process_iter(["cmdline", "pid"]):
        if process.info["pid"] != os.getpid() and text in " ".join(process.info["cmdline"] or []):
            found.append(process)
    return found


def supervisor_of(console: Console, key: str, rank: int = 0) -> psutil.Process:
    """The process that keeps the lock file of a Worker of the job's first attempt open."""
    lock = str(console.data_dir / "runs" / key / "1" / str(rank) / "lock")
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if lock in [file.path for file in process.open_files()]:
                return process
    raise AssertionError(f"nobody holds {lock}")
