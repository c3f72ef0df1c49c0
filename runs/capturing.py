"""Takes the stacks that were asked for: the engines' half. Safe to repeat."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial
from threading import Lock
from time import monotonic
from typing import Any

from django.db.models import F
from django.utils import timezone

from engines.base import AttemptKey, Engine, EngineError, WorkerStacks
from jobs.findings import Reason
from jobs.models import Attempt
from jobs.states import State
from runs.models import StackCapture
from runs.registry import engine_of
from runs.states import CheckState

logger = logging.getLogger(__name__)
MOST_AT_ONCE = 5  # each may take ten seconds
MOST_BYTES = 512 * 2**10  # of what is kept of one capture
SECONDS_OF_A_PASS = 10.0
PATIENCE = timedelta(seconds=30)  # with who has begun to take one

_taking = Lock()


def take_due(pks: Iterable[int] | None = None) -> None:
    """Takes these captures, or those that are due: one at a time, as each keeps a thread from its work."""
    if not _taking.acquire(blocking=False):
        return  # whoever is at it, or the next tick, comes to them
    try:
        _take_each(pks)
    finally:
        _taking.release()


def _take_each(pks: Iterable[int] | None) -> None:
    due = StackCapture.objects.due(timezone.now() - PATIENCE)
    if pks is not None:
        due = due.filter(pk__in=list(pks))
    for capture in due.select_related("attempt__job__pool").order_by("pk")[:MOST_AT_ONCE]:
        _take_alone(engine_of(capture.attempt.job.pool.engine), capture)


@dataclass(slots=True)
class Allowance:
    """The time that one pass over the jobs has for stacks: nobody else is attended to meanwhile. What was
    begun within it may still end, which takes ten seconds at most."""

    left_s: float = SECONDS_OF_A_PASS

    def spend(self, take: Callable[[], None]) -> None:
        """Does it, if there is time left."""
        if self.left_s > 0:
            began = monotonic()
            take()
            self.left_s -= monotonic() - began


def take_before_the_end(engine: Engine, attempt: Attempt, allowance: Allowance) -> None:
    """The one that tells most of those still asked for, before the attempt's processes are ended for having
    hung. The others are taken as ever, while the processes have time to end."""
    due = StackCapture.objects.due(timezone.now() - PATIENCE).filter(attempt=attempt)
    of_all_first = due.select_related("attempt__job").order_by(F("rank").asc(nulls_first=True), "pk")
    for capture in of_all_first[:1]:
        allowance.spend(partial(_take_alone, engine, capture))


def _take_alone(engine: Engine, capture: StackCapture) -> None:
    """One capture's trouble must not keep the others waiting, or an attempt from its end."""
    try:
        _take(engine, capture)
    except Exception:
        logger.exception("stacks of %s: taking failed", capture.attempt)


def _take(engine: Engine, capture: StackCapture) -> None:
    """One capture, unless somebody else is at it."""
    now = timezone.now()
    mine = StackCapture.objects.due(now - PATIENCE).filter(pk=capture.pk)
    if not mine.update(claimed_at=now):
        return
    attempt, job = capture.attempt, capture.attempt.job
    if attempt.ended_at is not None or job.state != State.RUNNING or job.attempt != attempt.number:
        _answer(capture, CheckState.FAILED, reason=Reason("not_running").as_json())
        return
    try:
        told = engine.stacks(AttemptKey(job.key, attempt.number), capture.rank)
    except EngineError as error:
        logger.warning("stacks of %s: %s", attempt, error)
        _answer(capture, CheckState.FAILED, reason=Reason("engine_unavailable").as_json())
    else:
        _answer(capture, CheckState.DONE, result={"workers": _within(told, MOST_BYTES)})


def _within(told: Sequence[WorkerStacks], room: int) -> list[dict[str, Any]]:
    """As JSON; of what does not fit, only the rank is told."""
    kept = []
    for worker in told:
        document = asdict(worker)
        size = len(json.dumps(document))
        if size > room:
            document = asdict(WorkerStacks(worker.rank)) | {"trouble": {"code": "too_large", "data": {}}}
        else:
            room -= size
        kept.append(document)
    return kept


def _answer(capture: StackCapture, state: CheckState, **told: object) -> None:
    StackCapture.objects.filter(pk=capture.pk, state=CheckState.PENDING).update(
        state=state, taken_at=timezone.now(), **told
    )
