"""`LocalEngine`: the engine contract on this machine, without a server.

Everything it knows lies in files below `root`; two engines on the same `root`, in two processes, are one.
"""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from engines.base import (
    AttemptKey,
    EngineError,
    Fault,
    Launch,
    LogChunk,
    Phase,
    Protection,
    WorkerLaunch,
    WorkerLook,
)
from engines.local import durable, launcher, layout, lock, logs, sandbox, scratch, supervisor, tree
from engines.local.plan import House, mark

_TIDY_S = 5.0
_AT_ONCE = 4  # supervisors started side by side


class LocalEngine:
    """Runs Workers as processes of this machine.

    `root` is where runs are kept (0700); jobs see nothing of its parent (DATA_DIR), except mount sources
    below one of `shareable` (default: DATA_DIR/volumes and DATA_DIR/public). `shared_tools` are further
    directories that the `host` image lends read-only. `sandbox` is auto, bubblewrap, proot or none;
    `bwrap` names a bubblewrap to use instead of the wheel's or the system's.
    """

    def __init__(
        self,
        root: Path,
        sandbox: str = "auto",
        shared_tools: Iterable[Path] = (),
        *,
        shareable: Iterable[Path] | None = None,
        bwrap: Path | None = None,
    ) -> None:
        self._root = os.path.realpath(root)
        self._wanted = sandbox
        self._private = os.path.dirname(self._root)
        places = (
            shareable if shareable is not None else [Path(self._private, n) for n in ("volumes", "public")]
        )
        self._shareable = tuple(os.path.realpath(place) for place in places)
        self._tools = tuple(os.path.realpath(tool) for tool in shared_tools)
        self._bwrap = str(bwrap) if bwrap else None

    # -- starting and stopping -------------------------------------------------------------------

    def start(self, launch: Launch) -> None:
        """One supervisor per rank that was not started yet; see `Engine.start`."""
        attempt = self._attempt_dir(launch.key)
        ranks = [(worker.rank, layout.rank_dir(attempt, worker.rank)) for worker in launch.workers]
        if os.path.exists(os.path.join(attempt, layout.STOP)):
            return
        waiting = [path for _, path in ranks if self._look_at(path, stopped=False).phase is Phase.ABSENT]
        if not waiting:
            return
        document = self._document(launch)
        try:
            for path in waiting:
                layout.make_private_dirs(self._root, path)
            durable.write_json(os.path.join(attempt, layout.LAUNCH), document)
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                list(pool.map(lambda path: launcher.launch_supervisor(path, launch.private), waiting))
        except OSError as error:
            raise EngineError(f"cannot start {launch.key}: {error}") from error

    def stop(self, key: AttemptKey, grace_s: float) -> None:
        """Leave the tombstone; the supervisors see it within a tenth of a second."""
        attempt = self._attempt_dir(key)
        path = os.path.join(attempt, layout.STOP)
        now = time.time()
        try:
            layout.make_private_dirs(self._root, attempt)
            former = durable.read_json(path)
            if former is None:
                durable.write_json(path, {"at": now, "grace_s": grace_s})
            elif now + grace_s < former["at"] + former["grace_s"]:  # sooner than asked before
                durable.write_json(path, {"at": former["at"], "grace_s": now + grace_s - former["at"]})
        except OSError as error:
            raise EngineError(f"cannot stop {key}: {error}") from error
        self._clean_lost(key)

    def forget(self, key: AttemptKey) -> None:
        """Delete the attempt's files; EngineError while one of its supervisors lives."""
        attempt = self._attempt_dir(key)
        if not os.path.isdir(attempt):
            return
        for _, path in self._rank_dirs(attempt):
            self._wait_for_end(key, path)
        self._clean_lost(key)
        doomed = os.path.join(self._root, f".forgotten-{os.urandom(8).hex()}")
        os.rename(attempt, doomed)
        scratch.remove(doomed)
        try:
            os.rmdir(os.path.dirname(attempt))
        except OSError:
            return

    # -- looking ---------------------------------------------------------------------------------

    def look(self, keys: Iterable[AttemptKey]) -> dict[AttemptKey, tuple[WorkerLook, ...]]:
        """A few small files per Worker; takes no lock."""
        return {key: self._look_at_attempt(key) for key in keys}

    def read_log(self, key: AttemptKey, rank: int, offset: int, limit: int) -> LogChunk:
        """See `Engine.read_log`. A log that is not there yet reads as empty."""
        path = layout.rank_dir(self._attempt_dir(key), rank)
        parts = (key.job, str(key.attempt), str(rank))
        ended = self._look_at(path, stopped=False).phase in (Phase.EXITED, Phase.LOST)  # before the size
        fd = logs.open_file(self._root, (*parts, layout.LOG)) if os.path.isdir(self._root) else None
        if fd is None:
            return LogChunk(b"", 0, 0, ended)
        try:
            data, start, size = logs.read_part(fd, offset, max(0, limit))
        finally:
            os.close(fd)
        return LogChunk(data, start, size, ended, logs.read_cut(self._root, parts))

    def port_is_free(self, port: int) -> bool:
        """Whether somebody could listen on all addresses; both families count."""
        for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):  # noqa: S104
            try:
                probe = socket.socket(family, socket.SOCK_STREAM)
            except OSError:
                continue  # no such family here
            with probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                try:
                    probe.bind((address, port))
                    probe.listen(1)
                except OSError as error:
                    if family == socket.AF_INET or error.errno != errno.EADDRNOTAVAIL:
                        return False
        return True

    def protection(self) -> Protection:
        """The mode in use; `unavailable` if the demanded one does not work, so that nothing can start."""
        choice = self._choice()
        return Protection(choice.mode or "unavailable", choice.reason)

    # -- inside ----------------------------------------------------------------------------------

    def _choice(self) -> sandbox.Choice:
        return sandbox.choose(self._wanted, self._bwrap)

    def _attempt_dir(self, key: AttemptKey) -> str:
        try:
            return layout.attempt_dir(self._root, key.job, key.attempt)
        except ValueError as error:
            raise EngineError(str(error)) from error

    def _document(self, launch: Launch) -> dict[str, Any]:
        """The launch document: everything but the private values."""
        choice = self._choice()
        if not choice.mode:
            raise EngineError(f"the sandbox that is demanded does not work: {choice.reason}")
        links = os.path.join(self._root, ".links")
        house = House(choice.mode, choice.tool, self._private, self._shareable, self._tools, links)
        return {
            "name": str(launch.key),
            "command": launch.command,
            "image": launch.image,
            "mounts": [(mount.source, mount.target, mount.read_only) for mount in launch.mounts],
            "workers": [_worker_document(worker) for worker in launch.workers],
            "disk_bytes": launch.disk_bytes,
            "log_bytes": launch.log_bytes,
            "house": house._asdict(),
        }

    @staticmethod
    def _rank_dirs(attempt: str) -> list[tuple[int, str]]:
        ranks = sorted(int(name) for name in os.listdir(attempt) if name.isdecimal())
        return [(rank, os.path.join(attempt, str(rank))) for rank in ranks]

    def _look_at_attempt(self, key: AttemptKey) -> tuple[WorkerLook, ...]:
        attempt = self._attempt_dir(key)
        if not os.path.exists(os.path.join(attempt, layout.LAUNCH)):
            return ()
        stopped = os.path.exists(os.path.join(attempt, layout.STOP))
        return tuple(self._look_at(path, stopped) for _, path in self._rank_dirs(attempt))

    @staticmethod
    def _look_at(path: str, stopped: bool) -> WorkerLook:
        """In this order: a supervisor locks, then writes `started`, then `exit.json`, then lets go."""
        rank = int(os.path.basename(path))
        end = durable.read_json(os.path.join(path, layout.EXIT))
        if end:
            return _exited(rank, end)
        started = durable.read_json(os.path.join(path, layout.STARTED))
        lives = lock.is_held(os.path.join(path, layout.LOCK))
        end = durable.read_json(os.path.join(path, layout.EXIT))
        if end:
            return _exited(rank, end)
        at = float(started["at"]) if started else None
        if lives:
            phase = Phase.RUNNING if started else Phase.STARTING
            step = "" if started else _read_step(path)
            return WorkerLook(rank, phase, step=step, stopped=stopped, started_at=at)
        if started:
            return WorkerLook(
                rank, Phase.LOST, stopped=stopped, fault=Fault("supervisor_lost"), started_at=at
            )
        return WorkerLook(rank, Phase.ABSENT, stopped=stopped)

    def _wait_for_end(self, key: AttemptKey, path: str) -> None:
        """A supervisor that has told the end may still be tidying up, for a moment."""
        until = time.monotonic() + _TIDY_S
        while lock.is_held(os.path.join(path, layout.LOCK)):
            if self._look_at(path, stopped=False).phase is not Phase.EXITED or time.monotonic() > until:
                raise EngineError(f"{key} still runs")
            time.sleep(0.02)

    def _clean_lost(self, key: AttemptKey) -> None:
        """End and remove what killed supervisors have left; nothing of a living one."""
        attempt = self._attempt_dir(key)
        for rank, path in self._rank_dirs(attempt):
            if self._look_at(path, stopped=False).phase is Phase.LOST:
                tree.kill_marked(mark(f"{key}/{rank}"))
                supervisor.remove_layers(path)


def _worker_document(worker: WorkerLaunch) -> dict[str, Any]:
    return {
        "rank": worker.rank,
        "hostname": worker.hostname,
        "gpus": len(worker.gpus),
        "env": dict(worker.env),
        "shm_bytes": worker.shm_bytes,
    }


def _exited(rank: int, end: dict[str, Any]) -> WorkerLook:
    fault = end["fault"]
    return WorkerLook(
        rank,
        Phase.EXITED,
        exit_code=end["exit_code"],
        signal=end["signal"],
        stopped=end["stopped"],
        fault=Fault(fault["code"], fault["data"]) if fault else None,
        started_at=end["started_at"],
        ended_at=end["ended_at"],
    )


def _read_step(path: str) -> str:
    try:
        with open(os.path.join(path, layout.STEP), encoding="ascii") as file:
            return file.read(32)
    except FileNotFoundError:
        return ""
