"""Keeps a set of child processes alive, and ends them in the opposite order of their start."""

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from console.runner.config import Refusal
from console.runner.logs import log_path, tail
from console.runner.processes import ChildSpec, bury, has_ended, how_it_ended, spawn

POLL_SECONDS = 0.1


class Stopped(Exception):
    """The runner was asked to end."""


@dataclass(frozen=True)
class Backoff:
    """Seconds to wait before a restart: doubling from `first` to `longest`, anew after a life of `steady`.

    So long after its start, `reachable`, a child is given to make the file at which it is reached.
    """

    first: float = 0.5
    longest: float = 10.0
    steady: float = 30.0
    reachable: float = 10.0


@dataclass
class _Child:
    spec: ChildSpec
    wait: float
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    due_at: float = field(default=0.0)


class Supervisor:
    """Starts children and restarts those that die. Call `tick` often; nothing happens between two calls."""

    def __init__(self, log_dir: Path, say: Callable[[str], None], backoff: Backoff | None = None):
        self._log_dir = log_dir
        self.say = say
        self.backoff = backoff or Backoff()
        self._children: list[_Child] = []
        self.stopping = False
        self.hurry = False
        self.on_change: Callable[[list[int]], None] = lambda sessions: None

    def ask_to_stop(self) -> None:
        """Make the next `tick` raise Stopped; asked again, ending waits for nobody."""
        self.hurry = self.stopping
        self.stopping = True

    def pids(self) -> dict[str, int]:
        """The living children's process numbers by name."""
        return {child.spec.name: child.process.pid for child in self._children if child.process}

    def add(self, spec: ChildSpec) -> None:
        """Start a child and keep it alive from now on."""
        child = _Child(spec, wait=self.backoff.first)
        self._children.append(child)
        self._start(child)

    def remove(self, name: str) -> None:
        """Forget a child that has ended, instead of starting it again."""
        self._children = [child for child in self._children if child.spec.name != name or child.process]

    def ended(self, name: str) -> bool:
        """Whether the child is not running at this moment; it then is reaped, not restarted."""
        child = next(child for child in self._children if child.spec.name == name)
        if child.process and has_ended(child.process):
            bury(child.process)
            child.process = None
            self._report_change()
        return child.process is None

    def run(self, spec: ChildSpec) -> None:
        """Run a program to its end beside the others; a Refusal shows the end of its output if it fails."""
        log = log_path(self._log_dir, spec.name)
        process = spawn(spec, log)
        try:
            while not has_ended(process):
                self.tick()
                time.sleep(POLL_SECONDS)
        finally:
            code = bury(process)
        if code:
            output = "\n".join(f"    {line}" for line in tail(log, 15))
            raise Refusal(f"{spec.name} failed ({how_it_ended(code)}); the end of {log}:\n{output}")

    def tick(self) -> None:
        """Notice who died and start again whose time has come; raises Stopped once asked to stop."""
        self.check_stop()
        for child in self._children:
            if child.process and (has_ended(child.process) or self._out_of_reach(child)):
                self._lost(child, bury(child.process))
            elif not child.process and time.monotonic() >= child.due_at:
                self._start(child)

    def check_stop(self) -> None:
        """Raise Stopped once asked to stop."""
        if self.stopping:
            raise Stopped

    def stop(self, patience: float = 10.0) -> None:
        """End all children, the last started first; who is still there after `patience` seconds is killed.

        The first started child is ended when all others are gone: they may need it to put their work back.
        """
        living = [child for child in self._children if child.process]
        for group in (living[:0:-1], living[:1]):
            self._end(group, patience)
        self._children = []
        self._report_change()

    def _start(self, child: _Child) -> None:
        log = log_path(self._log_dir, child.spec.name)
        child.process = spawn(child.spec, log)
        child.started_at = time.monotonic()
        self._report_change()
        self.say(f"{child.spec.name}: started, process {child.process.pid}")

    def _out_of_reach(self, child: _Child) -> bool:
        """Whether the file at which a child is reached was deleted: it will not make it anew by itself."""
        place = child.spec.serves_at
        if place is None or time.monotonic() - child.started_at < self.backoff.reachable or place.exists():
            return False
        self.say(f"{child.spec.name}: {place} is gone")
        return True

    def _lost(self, child: _Child, code: int) -> None:
        now = time.monotonic()
        if now - child.started_at >= self.backoff.steady:
            child.wait = self.backoff.first
        child.process, child.due_at = None, now + child.wait
        log = self._log_dir / f"{child.spec.name}.log"
        self.say(f"{child.spec.name}: ended ({how_it_ended(code)}), again in {child.wait:g} s; see {log}")
        if child.wait == self.backoff.first:  # what follows in a row repeats itself
            for line in tail(log, 3):
                self.say(f"    {line}")
        child.wait = min(child.wait * 2, self.backoff.longest)
        self._report_change()

    def _end(self, children: list[_Child], patience: float) -> None:
        for child in children:
            assert child.process  # noqa: S101  (the caller chose the living)
            child.process.terminate()
        deadline = time.monotonic() + patience
        waiting = list(children)
        while waiting and time.monotonic() < deadline and not self.hurry:
            time.sleep(POLL_SECONDS / 2)
            waiting = [child for child in waiting if child.process and not has_ended(child.process)]
        for child in children:
            if child in waiting:
                self.say(f"{child.spec.name}: did not end in time, killed")
            if child.process:
                bury(child.process)
            child.process = None

    def _report_change(self) -> None:
        self.on_change(list(self.pids().values()))
