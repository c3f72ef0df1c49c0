"""Hints from jobs to the queue and to the engines' app, sent on commit. They may be lost."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from django.db import transaction

from pools.hints import pool_changed, send

__all__ = ["jobs_due", "pool_changed"]

MOST_NAMED = 50


def jobs_due(job_ids: Sequence[int]) -> None:
    """Jobs were placed, or are to be stopped: somebody may see to their processes.

    Only the first of very many are named, as a task's work is bounded: the tick comes to the others.
    """
    transaction.on_commit(partial(send, "runs.tasks.engine_attend", list(job_ids[:MOST_NAMED])))
