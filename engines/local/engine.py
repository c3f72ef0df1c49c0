"""`LocalEngine`: the engine contract on this machine, without a server.

Everything it knows lies in files below `root`; two engines on the same `root`, in two processes, are one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from engines.base import (
    AttemptKey,
    Check,
    EngineError,
    Fault,
    KeptBytes,
    KeptFolder,
    Launch,
    LogChunk,
    Phase,
    Protection,
    WorkerLaunch,
    WorkerLook,
    WorkerStacks,
)
from engines.local import (
    cgroups,
    durable,
    guards,
    kept,
    launcher,
    layout,
    lock,
    logs,
    looking,
    sandbox,
    scratch,
    stacks,
    tombstone,
    tree,
    trial,
)
from engines.local.plan import House, mark
from engines.local.sandbox import Choice

_TIDY_S = 5.0
_STACKS_S = 9.0
_DROP_S = 1.0
_AT_ONCE = 4  # supervisors started side by side


class Means(NamedTuple):
    """What the engine works with: a bubblewrap other than the wheel's or the system's, and where control
    groups of Workers are made: off, auto, or the path of one that the console was given (see `cgroups`)."""

    bwrap: Path | None = None
    groups: str = "off"


class LocalEngine:
    """Runs Workers as processes of this machine.

    `root` is where runs are kept (0700); jobs see nothing of its parent (DATA_DIR), except mount sources
    below one of `shareable` (default: DATA_DIR/volumes and DATA_DIR/public). `shared_tools` are further
    directories that the `host` image lends read-only. `sandbox` is auto, bubblewrap, proot or none.
    A supervisor that has not ended its Worker `patience_s` after a stop's KILL was due is ended from outside.
    """

    patience_s = 30.0  # how long after a stop's grace a frozen guard is borne

    def __init__(
        self,
        root: Path,
        sandbox: str = "auto",
        shared_tools: Iterable[Path] = (),
        *,
        shareable: Iterable[Path] | None = None,
        means: Means = Means(),  # noqa: B008  # it never changes
    ) -> None:
        self._root = os.path.realpath(root)
        self._wanted = sandbox
        self._private = os.path.dirname(self._root)
        places = (
            shareable if shareable is not None else [Path(self._private, n) for n in ("volumes", "public")]
        )
        self._shareable = tuple(os.path.realpath(place) for place in places)
        self._tools = tuple(os.path.realpath(tool) for tool in shared_tools)
        self._bwrap = str(means.bwrap) if means.bwrap else None
        self._groups = means.groups
        self._tried: Choice | None = None

    # -- starting and stopping -------------------------------------------------------------------

    def start(self, launch: Launch) -> None:
        """One supervisor per rank that was not started yet; see `Engine.start`."""
        attempt = self._attempt_dir(launch.key)
        ranks = [layout.rank_dir(attempt, worker.rank) for worker in launch.workers]
        waiting = [path for path in ranks if self._look_at(path).phase is Phase.ABSENT]
        if tombstone.stands(attempt) or not waiting:
            return
        document = self._document(launch)
        try:
            for path in waiting:
                layout.make_private_dirs(self._root, path)
            if launch.keep:
                durable.write_synced(os.path.join(attempt, layout.KEEP), b"")
            durable.write_json(os.path.join(attempt, layout.LAUNCH), document)
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                list(pool.map(lambda path: launcher.launch_supervisor(path, launch.private), waiting))
        except OSError as error:
            raise EngineError(f"cannot start {launch.key}: {error}") from error

    def stop(self, key: AttemptKey, grace_s: float) -> None:
        """Leave the tombstone; the supervisors see it within a tenth of a second.

        A later call also ends supervisors that should have done so long ago.
        """
        attempt = self._attempt_dir(key)
        try:
            layout.clear(self._root, attempt)
            layout.make_private_dirs(self._root, attempt)
            tombstone.leave(attempt, grace_s)
            if tombstone.overdue(attempt) > self.patience_s:
                self._end_stuck(attempt)
            doomed = self._end_lost(key)
        except OSError as error:
            raise EngineError(f"cannot stop {key}: {error}") from error
        if doomed:
            threading.Thread(target=_remove_each, args=(doomed,), daemon=True).start()

    def release(self, key: AttemptKey) -> None:
        """See `Engine.release`; an attempt that is not known here needs no leave."""
        attempt = self._attempt_dir(key)
        path = os.path.join(attempt, layout.RELEASE)
        try:
            if (
                not layout.obstacle(self._root, attempt)
                and os.path.isdir(attempt)
                and not os.path.lexists(path)
            ):
                durable.write_synced(path, b"")
        except OSError as error:
            raise EngineError(f"cannot release {key}: {error}") from error

    def forget(self, key: AttemptKey) -> None:
        """Delete the attempt's files; EngineError while one of its supervisors lives."""
        attempt = self._attempt_dir(key)
        try:
            if layout.clear(self._root, attempt) or not os.path.isdir(attempt):
                return
            for path in layout.rank_paths(attempt):
                self._wait_for_end(key, path)
            self._end_lost(key)
            doomed = os.path.join(self._root, f".forgotten-{os.urandom(8).hex()}")
            os.rename(attempt, doomed)
            scratch.remove(doomed)
        except OSError as error:
            raise EngineError(f"cannot forget {key}: {error}") from error
        with contextlib.suppress(OSError):  # other attempts of the job are kept
            os.rmdir(os.path.dirname(attempt))

    def drop(self, key: AttemptKey) -> bool:
        """See `Engine.drop`; from the mark's removal on, a layer goes with its Worker, whoever ends it."""
        attempt = self._attempt_dir(key)
        until = time.monotonic() + _DROP_S
        try:
            if layout.obstacle(self._root, attempt) or not os.path.isdir(attempt):
                return True
            paths = [path for path in layout.rank_paths(attempt) if not layout.obstacle(self._root, path)]
            for path in paths:
                self._wait_for_end(key, path)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(attempt, layout.KEEP))
            doomed = [layer for path in paths for layer in scratch.hide_layers(path)]
            return all(scratch.remove(layer, max(0.0, until - time.monotonic())) for layer in doomed)
        except OSError as error:
            raise EngineError(f"cannot drop what {key} kept: {error}") from error

    # -- looking ---------------------------------------------------------------------------------

    def look(self, keys: Iterable[AttemptKey]) -> dict[AttemptKey, tuple[WorkerLook, ...]]:
        """A few small files per Worker; takes no lock. What one attempt's files look like is its own trouble.

        EngineError only if this process cannot open any file just now.
        """
        try:
            return {key: self._look_at_attempt(key) for key in keys}
        except OSError as error:
            raise EngineError(f"cannot look: {error}") from error

    def read_log(self, key: AttemptKey, rank: int, offset: int, limit: int) -> LogChunk:
        """See `Engine.read_log`. A log that is not there yet reads as empty."""
        parts = (key.job, str(key.attempt), str(rank))
        try:
            path = layout.rank_dir(self._attempt_dir(key), rank)
            ended = self._look_at(path).phase in (Phase.EXITED, Phase.LOST)  # before the size
            found = logs.read_log(self._root, parts, offset, max(0, limit))
            cut = logs.read_cut(self._root, parts) if found else 0
        except (OSError, ValueError) as error:
            raise EngineError(f"cannot read the log of {key}/{rank}: {error}") from error
        data, start, size = found or (b"", 0, 0)
        return LogChunk(data, start, size, ended, cut)

    def kept_folder(self, key: AttemptKey, rank: int, path: bytes, first: int, limit: int) -> KeptFolder:
        """See `Engine.kept_folder`."""
        with kept.opened(self._root, self._worker_parts(key, rank), path) as place:
            return kept.read_folder(place, first, limit)

    def kept_bytes(self, key: AttemptKey, rank: int, path: bytes, offset: int, limit: int) -> KeptBytes:
        """See `Engine.kept_bytes`."""
        with kept.opened(self._root, self._worker_parts(key, rank), path) as place:
            return kept.read_bytes(place, offset, limit)

    def stacks(self, key: AttemptKey, rank: int | None = None) -> tuple[WorkerStacks, ...]:
        """See `Engine.stacks`: one process after the other, for as long as there is time."""
        until = time.monotonic() + _STACKS_S
        paths = layout.rank_paths(self._attempt_dir(key))
        if not paths:
            raise EngineError(f"{key} is not known here")
        wanted = [path for path in paths if rank is None or os.path.basename(path) == str(rank)]
        return tuple(self._stacks_of(path, until) for path in wanted)

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
        """The mode in use; `unavailable` if the demanded one does not work, so that nothing can start.

        What a process of the same boot and settings has found counts, so that a process that starts nothing
        needs no trial of its own; `start` tries for itself.
        """
        choice = trial.recall(self._root, self._circumstances) or self._choice()
        return Protection(choice.mode or "unavailable", choice.reason, bool(choice.groups))

    # -- inside ----------------------------------------------------------------------------------

    @cached_property
    def _circumstances(self) -> dict[str, Any]:
        return trial.circumstances(self._wanted, self._bwrap) | {"groups": self._groups}

    def _choice(self) -> Choice:
        """Tried for real, once; what came out is told to the other processes."""
        if self._tried is None:
            found = sandbox.choose(self._wanted, self._bwrap)
            self._tried = found._replace(groups=cgroups.prepare(self._groups))
            trial.note_down(self._root, self._circumstances, self._tried)
        return self._tried

    def _attempt_dir(self, key: AttemptKey) -> str:
        try:
            return layout.attempt_dir(self._root, key.job, key.attempt)
        except ValueError as error:
            raise EngineError(str(error)) from error

    def _worker_parts(self, key: AttemptKey, rank: int) -> tuple[str, str, str]:
        """The names on the way from the root to the Worker's directory."""
        try:
            layout.rank_dir(self._attempt_dir(key), rank)
        except ValueError as error:
            raise EngineError(str(error)) from error
        return key.job, str(key.attempt), str(rank)

    def _document(self, launch: Launch) -> dict[str, Any]:
        """The launch document: everything but the private values."""
        choice = self._choice()
        if not choice.mode:
            raise EngineError(f"the sandbox that is demanded does not work: {choice.reason}")
        links = os.path.join(self._root, ".links")
        house = House(
            choice.mode, choice.tool, self._private, self._shareable, self._tools, links, choice.groups
        )
        return {
            "name": str(launch.key),
            "command": launch.command,
            "image": launch.image,
            "mounts": [(mount.source, mount.target, mount.read_only) for mount in launch.mounts],
            "page": dict(launch.page),
            "workers": [_worker_document(worker) for worker in launch.workers],
            "disk_bytes": launch.disk_bytes,
            "log_bytes": launch.log_bytes,
            "house": house._asdict(),
            "check": _check_document(launch.check),
        }

    def _stacks_of(self, path: str, until: float) -> WorkerStacks:
        rank = int(os.path.basename(path))
        if self._look_at(path).phase is not Phase.RUNNING:
            return WorkerStacks(rank, trouble=Fault("not_running"))
        if time.monotonic() > until:
            return WorkerStacks(rank, trouble=Fault("too_slow"))
        return stacks.of_worker(path, until)

    def _look_at_attempt(self, key: AttemptKey) -> tuple[WorkerLook, ...]:
        try:
            attempt = layout.attempt_dir(self._root, key.job, key.attempt)
        except ValueError:  # no name that was ever started
            return ()
        return looking.look_at_attempt(self._root, attempt)

    def _look_at(self, path: str) -> WorkerLook:
        try:
            return looking.look_at_worker(self._root, path)
        except OSError as error:
            raise EngineError(f"cannot look: {error}") from error

    def _wait_for_end(self, key: AttemptKey, path: str) -> None:
        """A supervisor that has told the end may still be tidying up, for a moment."""
        until = time.monotonic() + _TIDY_S
        while lock.is_held(os.path.join(path, layout.LOCK)):
            if self._look_at(path).phase is not Phase.EXITED or time.monotonic() > until:
                raise EngineError(f"{key} still runs")
            time.sleep(0.02)

    def _end_stuck(self, attempt: str) -> None:
        for path in layout.rank_paths(attempt):
            if self._look_at(path).phase in (Phase.STARTING, Phase.RUNNING):
                guards.end(path)

    def _end_lost(self, key: AttemptKey) -> list[str]:
        """End and hide what killed supervisors have left; the layers that are to be removed."""
        doomed: list[str] = []
        for path in layout.rank_paths(self._attempt_dir(key)):
            if self._look_at(path).phase is Phase.LOST:
                guards.end(path)  # a keeper may be left that does not move
                tree.kill_marked(mark(f"{key}/{os.path.basename(path)}"))
                if not layout.obstacle(self._root, path):
                    doomed += scratch.hide_layers(path)
        return doomed


def _check_document(check: Check | None) -> dict[str, Any] | None:
    if check is None:
        return None
    return {"script": check.script, "env": dict(check.env), "timeout_s": check.timeout_s}


def _worker_document(worker: WorkerLaunch) -> dict[str, Any]:
    return {
        "rank": worker.rank,
        "hostname": worker.hostname,
        "gpus": len(worker.gpus),
        "env": dict(worker.env),
        "shm_bytes": worker.shm_bytes,
        "cpus": worker.cpus,
        "memory_bytes": worker.memory_bytes,
    }


def _remove_each(paths: Iterable[str]) -> None:
    """In a thread, as it may take long. What is left if this process ends goes with `forget`."""
    for path in paths:
        with contextlib.suppress(OSError):
            scratch.remove(path)
