"""The supervisor's eye on a running box: output, end, stop, disk, each in one loop of one thread."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterator
from typing import NamedTuple

from engines.local import cgroups, durable, layout, scratch, steps, tombstone, tree
from engines.local.box import Box
from engines.local.keeper import Kept
from engines.local.load import LoadMeter
from engines.local.output import LogWriter
from engines.local.plan import Plan, Refused

_TICK = 0.1
_DISK_EVERY = 10.0
_COMPLAINT = 4096


class End(NamedTuple):
    """How the Worker ended, before its exit document is written."""

    exit_code: int | None = None
    signal: int | None = None
    stopped: bool = False
    fault: Refused | None = None
    started_at: float | None = None
    ended_at: float | None = None


class Watch:
    """Runs one box to its end. `run` returns once the Worker has to end; its tree may still live."""

    def __init__(self, plan: Plan, kept: Kept, box: Box, places: tuple[str, str]) -> None:
        self._plan = plan
        self._kept = kept
        self._box = box
        self._rank_path, self._scratch = places
        self._attempt_path = os.path.dirname(self._rank_path)
        self.log = LogWriter(self._rank_path, plan.log_bytes)
        self._load = LoadMeter(self._rank_path, kept.pid, plan.gpus)
        self.memory = cgroups.OomMeter(box.group if plan.memory_bytes else "")
        self._helpers: set[int] = set()
        self._main = -1  # pidfd of the command's bash
        self._main_pid = 0
        self._shell_pid = 0
        self._complaint = b""
        self._poll = select.poll()
        self._started_at: float | None = None
        self._result: tuple[int | None, int | None] | None = None
        self._ended_at = 0.0
        self._stop_seen: tombstone.Tombstone | None = None
        self._kill_at = 0.0  # by the monotonic clock
        self._terminated = False
        self._disk_step: Iterator[int | None] | None = None
        self._disk_next = time.monotonic() + min(_DISK_EVERY, 1.0)
        self._fault: Refused | None = None

    def run(self) -> End:
        """Until the main process has ended, a stop is done, the disk is full or the box is gone."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._kept.echo, b"ready\n")
        for fd in (self._kept.output, self._kept.report, self._kept.complaints, self._kept.status):
            self._poll.register(fd, select.POLLIN)
        over = False
        while not over:
            for fd, _ in self._poll.poll(_TICK * 1000):
                if not self._serve(fd):
                    self._poll.unregister(fd)
                    over = over or fd == self._kept.status
            over = self._check_end() or over
        return self._end()

    def finish(self) -> None:
        """After the tree is gone: take what the pipe still holds, never waiting for its end."""
        self.log.pump(self._kept.output, 5.0)
        self.log.close()

    def _serve(self, fd: int) -> bool:
        """Handle one descriptor; False when it is at its end."""
        if fd == self._kept.output:
            return self.log.pump(fd, _TICK)
        if fd == self._main:
            return self._main_ended()
        try:
            data = os.read(fd, 4096)
        except BlockingIOError:
            return True
        if fd == self._kept.complaints:
            self._complaint = (self._complaint + data)[-_COMPLAINT:]
        elif fd == self._kept.report and data:
            self._release_command()
        elif fd == self._kept.status and data:
            self._told_end(*data.split()[:2])
        return bool(data)

    def _release_command(self) -> None:
        """The command may run: first written down, then allowed."""
        if self._started_at is not None or tombstone.stands(self._attempt_path):
            return
        try:
            self._find_main()
        except (StopIteration, ProcessLookupError):  # somebody killed it: no command was run
            self._fault = Refused("sandbox_failed", detail="the shell is gone")
            return
        self._started_at = time.time()
        told = {"at": self._started_at, "steps": steps.read(self._rank_path)}
        durable.write_json(os.path.join(self._rank_path, layout.STARTED), told)
        with contextlib.suppress(BrokenPipeError):
            os.write(self._kept.control, b"go\n")

    def _find_main(self) -> None:
        """Go down from the keeper: our helpers, the shell that is `cat` now, the command's bash."""
        found = tree.descendants(self._kept.pid)
        parent = self._kept.pid
        for _ in range(self._box.helpers):
            parent = self._first_child(found, parent)
            self._helpers.add(parent)
        self._shell_pid = self._first_child(found, parent)
        self._main_pid = self._first_child(found, self._shell_pid)
        self._main = os.pidfd_open(self._main_pid)
        self._poll.register(self._main, select.POLLIN)

    @staticmethod
    def _first_child(found: list[tree.Process], parent: int) -> int:
        """Before the command runs, each of those has one child."""
        return next(process.pid for process in found if process.parent == parent)

    def _main_ended(self) -> bool:
        status = tree.zombie_status(self._main_pid)
        if self._result is not None:
            return False
        if status is not None:
            self._command_ended(os.waitstatus_to_exitcode(status))
        else:
            with contextlib.suppress(BrokenPipeError):  # no keeper: its end will tell
                os.write(self._kept.life, b"%d %d\n" % (self._shell_pid, self._main_pid))
        return False

    def _told_end(self, whose: bytes, code: bytes) -> None:
        """What the keeper says; only the first counts."""
        if self._result:
            return
        if whose == b"box":
            self._box_ended(int(code))
        elif code == b"?":
            self._fault = Refused("sandbox_failed", detail="nobody can tell how the command ended")
            self._note_result((None, None))
        else:
            self._command_ended(int(code))

    def _command_ended(self, code: int) -> None:
        self._note_result((None, -code) if code < 0 else (code, None))

    def _note_result(self, result: tuple[int | None, int | None]) -> None:
        self._result = result
        self._ended_at = time.time()
        self._read_stop()

    def _box_ended(self, code: int) -> None:
        """The box is gone. Who ended it from inside, ended the command with it."""
        if self._started_at is None and self._stop_seen is None:
            lines = self._complaint.decode("utf-8", "replace").strip().splitlines()
            detail = lines[-1][:300] if lines else f"exit status {code}"
            self._fault = Refused("sandbox_failed", detail=detail)
            self._note_result((None, None))
        else:
            self._command_ended(128 - code if code > 128 else code)

    def _check_end(self) -> bool:
        """The rules that end a Worker, looked at ten times a second."""
        if self._fault:
            return True
        if self._read_stop() and not self._terminated:
            self._terminated = True
            self._terminate()
        self._check_disk()
        if self._started_at is not None:
            self._load.check(time.monotonic())
            self.memory.check(time.monotonic())
        if self._fault:
            return True
        if self._stop_seen is None:
            return self._result is not None
        return self._started_at is None or self._stop_is_done()

    def _read_stop(self) -> bool:
        """Whether a stop was asked for before the end; the tombstone of a shorter one counts too."""
        seen = tombstone.read(self._attempt_path)
        if seen is None or (self._result and seen.at > self._ended_at):
            return False
        if self._stop_seen != seen:
            self._stop_seen = seen
            left = seen.at + seen.grace_s - time.time()
            self._kill_at = time.monotonic() + min(max(left, 0.0), seen.grace_s)
        return True

    def _stop_is_done(self) -> bool:
        if time.monotonic() >= self._kill_at:
            return True
        return self._result is not None and {process.pid for process in self._worker_processes()} <= {
            self._shell_pid
        }

    def _terminate(self) -> None:
        """TERM to every process but our own helpers, and CONT, so that a stopped one hears it."""
        for process in self._worker_processes():
            tree.send(process, signal.SIGTERM)
            tree.send(process, signal.SIGCONT)

    def _worker_processes(self) -> list[tree.Process]:
        found = tree.descendants(self._kept.pid)
        return [process for process in found if process.pid not in self._helpers]

    def _check_disk(self) -> None:
        if self._disk_step is None:
            if time.monotonic() < self._disk_next or self._result is not None:
                return
            self._disk_step = scratch.measure(self._scratch)
        used = next(self._disk_step)
        if used is None:
            return
        self._disk_step = None
        self._disk_next = time.monotonic() + _DISK_EVERY
        if used > self._plan.disk_bytes:
            self._fault = Refused("disk_full", limit_bytes=self._plan.disk_bytes)

    def _end(self) -> End:
        code, number = self._result or (None, None)
        if self._fault and self._fault.code == "disk_full":
            code = number = None
        elif self._result is None and self._started_at is not None:
            number = signal.SIGKILL  # what the tree gets now, or what has just ended the box
        ended_at = self._ended_at or time.time()
        stopped = self._stop_seen is not None and self._stop_seen.at <= ended_at
        return End(code, number, stopped, self._fault, self._started_at, ended_at)
