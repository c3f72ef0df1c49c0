"""A test's stand for an engine: launches real commands, waits for what it says, leaves nothing running."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path

from engines.base import AttemptKey, Engine, Launch, Mount, Phase, WorkerLaunch, WorkerLook

PATIENCE_S = 30.0
ENDED = {Phase.EXITED, Phase.LOST}
_numbers = itertools.count(1)


class Stand:
    """An engine with a data directory of its own: `data`/runs for the engine, `volume` to mount."""

    def __init__(self, engine: Engine, data: Path, mode: str) -> None:
        self.engine = engine
        self.data = data
        self.mode = mode
        self.runs = data / "runs"
        self.volume = data / "volumes" / "one"
        self.volume.mkdir(parents=True, exist_ok=True)
        self.keys: list[AttemptKey] = []

    def launch(self, command: str, *, workers: int = 1, env=None, injected=None, mounts=(), **rest) -> Launch:
        key = AttemptKey(f"jo-{os.getpid():08d}{next(_numbers):08d}", 1)
        self.keys.append(key)
        told = tuple(
            WorkerLaunch(rank, f"{key.job}-worker-{rank}", (rank,), dict(injected or {}), 2**20)
            for rank in range(workers)
        )
        return Launch(key, command, "host", tuple(mounts), told, page=dict(env or {}), **rest)

    def start(self, command: str, **rest) -> AttemptKey:
        launch = self.launch(command, **rest)
        self.engine.start(launch)
        return launch.key

    def run(self, command: str, **rest) -> WorkerLook:
        """Start one Worker and wait for its end."""
        return self.end(self.start(command, **rest))

    def look(self, key: AttemptKey, rank: int = 0) -> WorkerLook:
        return self.engine.look([key])[key][rank]

    def end(self, key: AttemptKey, rank: int = 0) -> WorkerLook:
        wait_until(lambda: self.look(key, rank).phase in ENDED, f"end of {key}/{rank}")
        return self.look(key, rank)

    def running(self, key: AttemptKey, text: str = "") -> None:
        """Wait until the command runs and has written `text`."""
        wait_until(
            lambda: self.look(key).phase is Phase.RUNNING and text in self.log(key), f"{text!r} in log"
        )

    def log(self, key: AttemptKey | None = None, rank: int = 0) -> str:
        """The whole log of the Worker (of the last launch)."""
        chunk = self.engine.read_log(key or self.keys[-1], rank, 0, 2**24)
        return chunk.data.decode("utf-8", "surrogateescape")

    def mount(self, target: str, *, read_only: bool = False, source: Path | None = None) -> Mount:
        return Mount(str(source or self.volume), target, read_only)

    def close(self) -> None:
        for key in self.keys:
            if self.engine.look([key])[key]:
                self.engine.stop(key, 0)
        for key in self.keys:
            for look in self.engine.look([key])[key]:
                if look.phase is not Phase.ABSENT:
                    self.end(key, look.rank)
            self.engine.forget(key)


def wait_until(condition, what: str, patience: float = PATIENCE_S) -> None:
    until = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < until, f"waited in vain: {what}"
        time.sleep(0.01)


def processes(*words: str) -> list[int]:
    """Pids of living processes in whose command line all of `words` occur."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdecimal() or int(entry) == os.getpid():
            continue
        try:
            line = Path("/proc", entry, "cmdline").read_bytes().replace(b"\0", b" ")
            dead = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
        except OSError:
            continue
        if not dead and line and all(word.encode() in line for word in words):
            found.append(int(entry))
    return sorted(found)


def nap() -> str:
    """A duration for `sleep` that nobody else on this machine uses."""
    return f"300{next(_numbers)}.{os.getpid()}"
