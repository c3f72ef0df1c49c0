"""The contract between the console and whatever runs Workers.

Values only: no I/O, no clock. Times are seconds since the epoch (float, UTC), sizes are bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


@dataclass(frozen=True, order=True, slots=True)
class AttemptKey:
    """Names one attempt of one job for ever: `jo-…` and 1, 2, 3 … A path check is its own: `pc-…`, 1."""

    job: str
    attempt: int

    def __str__(self) -> str:
        return f"{self.job}/{self.attempt}"


@dataclass(frozen=True, slots=True)
class Mount:
    """One directory of the machine shown inside the Worker."""

    source: str
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class WorkerLaunch:
    """What differs between the Workers of an attempt.

    `env` holds the injected variables. Below them come those of the page (`Launch.page`), `Launch.private`
    and, lowest, the engine's base variables (PATH, HOME …). Limits of processor and memory are kept where
    the engine can (`Protection.limits`); 0 means none.
    """

    rank: int
    hostname: str
    gpus: tuple[int, ...]
    env: Mapping[str, str]
    shm_bytes: int
    cpus: float = 0
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Check:
    """A bash program that is run in each Worker before its command, in a box like the command's. Its last
    line is `TRAINYARD-CHECK-END`; after `timeout_s` it is ended.

    Its variables are the platform's: base and injected ones, and `env` above them. Nothing that the job sets
    can lead it astray: each variable of the page is told as TRAINYARD_CHECK_OF_COMMAND_<name>, private ones
    not at all. The engine adds TRAINYARD_CHECK_RANK, TRAINYARD_CHECK_GPUS (how many the Worker has) and, in
    rank order, TRAINYARD_CHECK_ADDRESSES, one for each Worker to listen at, with commas between them.
    """

    script: str
    env: Mapping[str, str]
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Launch:
    """Everything an engine needs to run one attempt; nothing is looked up elsewhere."""

    key: AttemptKey
    command: str
    image: str
    mounts: tuple[Mount, ...]
    workers: tuple[WorkerLaunch, ...]
    private: Mapping[str, str] = field(default_factory=dict, repr=False)
    stop_grace_s: float = 30.0
    page: Mapping[str, str] = field(default_factory=dict)  # the plain variables that the job sets
    disk_bytes: int = 50 * 2**30
    log_bytes: int = 2 * 2**30
    check: Check | None = None  # with one, no command runs before `Engine.release`
    keep: bool = False  # what the Workers wrote on their own disk stays until `Engine.drop`


class Phase(StrEnum):
    """Where a Worker stands. `EXITED` and `LOST` never change again within an attempt."""

    ABSENT = "absent"  # never started here
    STARTING = "starting"  # a supervisor lives, the command was not run yet
    RUNNING = "running"  # the command was run
    EXITED = "exited"  # the command ended, or could not be run (see `fault`)
    LOST = "lost"  # it was started, and nobody knows how it ended


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a Worker's command could not be run, or was ended by the engine: a code and its data.

    Codes: `mount_missing` {path}, `mount_no_folder` {path} (there is a file), `mount_denied` {path, detail}
    (the path in the Worker, and why, in words that name no folder of the machine), `sandbox_failed`
    {detail}, `image_missing` {image}, `disk_full` {limit_bytes}, `out_of_memory` {limit_gib} (the kernel
    ended one of its processes for that, and it ended badly: how is told beside it), `supervisor_lost` {},
    or {unreadable} with the name of what it left that cannot be read.
    """

    code: str
    data: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckLook:
    """How the check of a Worker ended: `done`, `timed_out` or `broke_off`, and what it had printed."""

    outcome: str
    text: str
    began_at: float | None = None
    ended_at: float | None = None


@dataclass(frozen=True, slots=True)
class WorkerLook:
    """One look at one Worker.

    `exit_code` is 0 … 255 when the command ended by itself, else None; `signal` is the number
    of the signal that ended it, else None. `stopped` tells that a stop was asked for before it ended.
    `step` is the deploy step while `STARTING`: storage, initialize, pull_image or env_check; `steps` are all
    that it has begun, each with when. `output_at`, while `RUNNING`: when it last wrote something, or began;
    None if the engine does not know. `busy_at` likewise: when its processes together last used at least a
    twentieth of one core, for some seconds.
    """

    rank: int
    phase: Phase
    step: str = ""
    exit_code: int | None = None
    signal: int | None = None
    stopped: bool = False
    fault: Fault | None = None
    started_at: float | None = None
    ended_at: float | None = None
    output_at: float | None = None
    busy_at: float | None = None
    steps: tuple[tuple[str, float], ...] = ()
    check: CheckLook | None = None  # while `STARTING`, once it has ended


@dataclass(frozen=True, slots=True)
class LogChunk:
    """Bytes of a Worker's log from `offset`; `size` is the log's whole length now.

    `complete` means that the Worker has ended and nothing will be added;
    `cut_bytes` counts output that was thrown away because of the log limit.
    """

    data: bytes
    offset: int
    size: int
    complete: bool
    cut_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Frame:
    """One function that a thread is in: its name, the file and the line there."""

    name: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread with its frames, the innermost first; `ident` is its number inside the Worker. `active`: it
    was computing, not waiting. `more_frames` were left out."""

    name: str
    ident: int
    active: bool
    frames: tuple[Frame, ...]
    more_frames: int = 0


@dataclass(frozen=True, slots=True)
class PythonProcess:
    """A Python process: its number inside the Worker, and program and script by name, never its arguments.

    `trouble` tells why there are no threads: `denied`, `gone`, `too_slow`, `unreadable`, `not_installed`.
    """

    pid: int
    program: str
    threads: tuple[Thread, ...] = ()
    more_threads: int = 0
    trouble: Fault | None = None


@dataclass(frozen=True, slots=True)
class WorkerStacks:
    """The Python processes of one Worker. `trouble` tells why there are none: `no_python`,
    `not_running`, `not_installed`, `too_slow`, `proot` (they cannot be read through that)."""

    rank: int
    processes: tuple[PythonProcess, ...] = ()
    more_processes: int = 0
    trouble: Fault | None = None


@dataclass(frozen=True, slots=True)
class Protection:
    """How jobs are kept apart from the machine: mode bubblewrap, proot or none, and why not better.

    Mode `unavailable`: the demanded sandbox does not work, and nothing can be started. `limits`: a Worker
    cannot use more memory and processor time than its spec gives.
    """

    mode: str
    reason: str = ""
    limits: bool = False

    @property
    def safe(self) -> bool:
        return self.mode == "bubblewrap"


class EntryKind(StrEnum):
    """What lies in a folder. A link is never followed."""

    FOLDER = "folder"
    FILE = "file"
    LINK = "link"
    OTHER = "other"  # a pipe, a socket: nothing that can be read


@dataclass(frozen=True, slots=True)
class KeptEntry:
    """Something that a Worker has written. Names are bytes, as the file system has them."""

    name: bytes
    kind: EntryKind
    size: int
    modified_at: float
    target: bytes = b""  # where a link leads to


@dataclass(frozen=True, slots=True)
class KeptFolder:
    """Entries of a folder, folders first and then by name; `total` counts all of them, but for `more`: there
    are more than are looked at."""

    entries: tuple[KeptEntry, ...]
    total: int
    more: bool = False


@dataclass(frozen=True, slots=True)
class KeptBytes:
    """Bytes of a file from `offset` on; `size` is that of the whole file."""

    data: bytes
    offset: int
    size: int
    modified_at: float


class NotKept(Exception):
    """Nothing is kept at this path, or it is another kind of thing, or its own permissions close it."""


class EngineError(Exception):
    """The engine cannot do what was asked now; the caller may try again later."""


class Engine(Protocol):
    """What every engine can do. All calls are safe to repeat and bounded in time.

    `usage` and `inventory` come with the steps that need them.
    """

    def start(self, launch: Launch) -> None:
        """Begin the attempt. A second call, or one after `stop`, does nothing.

        Raises EngineError if the machine cannot start it now (nothing runs then).
        """
        ...

    def look(self, keys: Iterable[AttemptKey]) -> dict[AttemptKey, tuple[WorkerLook, ...]]:
        """The Workers of each attempt in rank order; an unknown attempt gives an empty tuple.

        Whatever is wrong with one attempt shows in its own Workers. EngineError: nobody could be looked at.
        """
        ...

    def release(self, key: AttemptKey) -> None:
        """The checks of the attempt's Workers are passed: their commands may run. A stop still wins."""
        ...

    def stop(self, key: AttemptKey, grace_s: float) -> None:
        """End every process of the attempt: TERM to all, after `grace_s` KILL. Returns at once.

        Also the promise that the attempt never starts any more. Watch `look` for the end.
        """
        ...

    def read_log(self, key: AttemptKey, rank: int, offset: int, limit: int) -> LogChunk:
        """At most `limit` bytes from byte `offset`; a negative offset counts from the end."""
        ...

    def stacks(self, key: AttemptKey, rank: int | None = None) -> tuple[WorkerStacks, ...]:
        """Where the Python processes of the attempt, or of one Worker, are now; in rank order.

        Takes 10 s at most. EngineError if the attempt is not known here.
        """
        ...

    def forget(self, key: AttemptKey) -> None:
        """Delete what is kept of an attempt that has ended, its logs included."""
        ...

    def kept_folder(self, key: AttemptKey, rank: int, path: bytes, first: int, limit: int) -> KeptFolder:
        """What an ended Worker wrote in a folder of its own disk, mounts and system aside: `limit` entries
        from number `first` on. `path` is as in the Worker; links are not followed. NotKept if there is none.
        """
        ...

    def kept_bytes(self, key: AttemptKey, rank: int, path: bytes, offset: int, limit: int) -> KeptBytes:
        """At most `limit` bytes from byte `offset` of such a file. NotKept if there is none."""
        ...

    def drop(self, key: AttemptKey) -> bool:
        """Delete what an ended attempt was to keep; its logs stay. Unreadable at once; False if some of it
        still lies on the disk after about a second: call again. EngineError while a Worker of it lives."""
        ...

    def port_is_free(self, port: int) -> bool:
        """Whether a TCP port of the machine where rank 0 runs can be listened on now."""
        ...

    def protection(self) -> Protection:
        """How this engine keeps jobs apart; cheap enough for every page."""
        ...
