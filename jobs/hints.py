"""Hints from jobs to the queue and to the engines' app, sent on commit. They may be lost."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from django.db import transaction

from pools.hints import pool_changed, send

__all__ = ["jobs_placed", "jobs_stopping", "pool_changed"]


def jobs_placed(job_ids: Sequence[int]) -> None:
    """Jobs hold their GPUs: somebody may launch them."""
    transaction.on_commit(partial(send, "runs.tasks.engine_attend", list(job_ids)))


def jobs_stopping(job_ids: Sequence[int]) -> None:
    """A stop was asked for: somebody may end the processes."""
    transaction.on_commit(partial(send, "runs.tasks.engine_attend", list(job_ids)))
