"""States of a job, the moves between them, and priorities."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class State(StrEnum):
    QUEUED = "queued"
    DEPLOYING = "deploying"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"


LIVE = frozenset({State.QUEUED, State.DEPLOYING, State.RUNNING})
PLACED = frozenset({State.DEPLOYING, State.RUNNING})  # with an attempt that holds GPUs
TERMINAL = frozenset(State) - LIVE

MOVES: dict[State, frozenset[State]] = {
    State.QUEUED: frozenset({State.DEPLOYING, State.STOPPED, State.FAILED}),
    State.DEPLOYING: frozenset({State.RUNNING, State.QUEUED, State.FAILED, State.STOPPED}),
    State.RUNNING: frozenset({State.QUEUED, State.SUCCEEDED, State.FAILED, State.STOPPED}),
    State.SUCCEEDED: frozenset(),
    State.FAILED: frozenset(),
    State.STOPPED: frozenset(),
}


def may_move(old: State, new: State) -> bool:
    return new in MOVES[old]


class DeployStep(StrEnum):
    ALLOCATE = "allocate"
    STORAGE = "storage"
    INITIALIZE = "initialize"
    PULL_IMAGE = "pull_image"
    ENV_CHECK = "env_check"


class Priority(IntEnum):
    """Smaller starts first."""

    HIGH = 0
    NORMAL = 1
    LOW = 2

    @property
    def label_code(self) -> str:
        return self.name.lower()

    @classmethod
    def of(cls, code: str) -> Priority:
        """The priority of `high`, `normal` or `low`; KeyError for anything else."""
        return cls[code.upper()]


PRIORITY_CODES = tuple(p.label_code for p in Priority)


class OriginKind(StrEnum):
    """How a job came to be made from an earlier one."""

    RERUN = "rerun"
    MODIFIED = "modified"
    CLONE = "clone"
    REPLACEMENT = "replacement"  # of a waiting job, which was stopped in the same step


class Framework(StrEnum):
    SINGLE = "single"
    PYTORCH_DDP = "pytorch_ddp"
