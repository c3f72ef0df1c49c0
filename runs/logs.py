"""What a Worker has written, for pages and REST alike."""

from __future__ import annotations

from dataclasses import replace

from engines.base import AttemptKey, LogChunk
from jobs.models import Job
from jobs.states import State
from runs.registry import engine_of


def log_read(*, job: Job, attempt: int, rank: int, offset: int, limit: int) -> LogChunk:
    """At most `limit` bytes from `offset` on, which counts from the end where it is negative.

    Complete is also the log of a Worker that never started, once its attempt is over; attempt 0
    stands for a job that was never placed. EngineError if the log cannot be read now.
    """
    over = job.finished or attempt < job.attempt or (bool(attempt) and job.state == State.QUEUED)
    if not attempt:
        return LogChunk(b"", 0, 0, complete=over)
    chunk = engine_of(job.pool.engine).read_log(AttemptKey(job.key, attempt), rank, offset, limit)
    return replace(chunk, complete=chunk.complete or over)
