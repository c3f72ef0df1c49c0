"""Asking for the stacks of an attempt's Python processes. The row is what counts; the hint may be lost."""

from __future__ import annotations

from functools import partial

from django.db import transaction

from jobs.models import Attempt, Job
from jobs.states import State
from pools.hints import send
from runs.models import StackCapture
from runs.states import OPEN, CheckState
from teams.models import User

KEPT = 20  # of each attempt


class NoSuchWorker(Exception):
    """The job has so many Workers, and not the one that was asked for."""


class NotRunning(Exception):
    """There is nothing whose stacks could be taken."""


def capture_ask(*, job: Job, user: User, rank: int | None = None) -> StackCapture:
    """A capture of the job's current attempt. Asked again before it is taken, it is the same one.

    NoSuchWorker for a rank that it does not have, NotRunning if it does not run.
    """
    if rank is not None and rank >= job.shape.workers:
        raise NoSuchWorker(job.shape.workers)
    attempt = Attempt.objects.filter(job=job, number=job.attempt, ended_at=None).first()
    if attempt is None or job.state != State.RUNNING:
        raise NotRunning
    with transaction.atomic():
        waiting = attempt.captures.filter(state=CheckState.PENDING, rank=rank).first()
        return waiting or _store(attempt, asked_by=user, rank=rank)


def capture_of_itself(attempt: Attempt) -> StackCapture:
    """The automatic one of a job that is suspected to hang; to be called in a transaction."""
    return _store(attempt, automatic=True)


def _store(attempt: Attempt, **fields: object) -> StackCapture:
    capture = StackCapture.objects.create(attempt=attempt, **fields)
    kept = attempt.captures.order_by("-pk").values_list("pk", flat=True)[:KEPT]
    attempt.captures.exclude(pk__in=list(kept)).exclude(state__in=OPEN).delete()  # somebody waits for those
    transaction.on_commit(partial(send, "runs.tasks.engine_stacks", [capture.pk]))
    return capture
