"""Where a path check stands. Pure."""

from enum import StrEnum


class CheckState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


OPEN = (CheckState.PENDING, CheckState.RUNNING)  # there is no answer yet
