"""Looks at the attempts that hold GPUs and brings their jobs on: the engines' half of the tick."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from django.db import transaction
from django.db.models import Prefetch

from engines.base import Engine, EngineError, WorkerLook
from jobs.findings import Reason
from jobs.lifecycle import event, move
from jobs.models import Attempt, Job, Worker
from jobs.spec import JobSpec
from jobs.states import State
from jobs.vault import InvalidToken
from runs.launching import attempt_key, launch
from runs.registry import engine_of
from runs.verdict import Standing, Verdict, judge

logger = logging.getLogger(__name__)


def attend(job_ids: Iterable[int] | None = None) -> None:
    """Looks once at these jobs, or at all that are placed, and does what is due. Safe to repeat."""
    jobs = Job.objects.placed().select_related("pool", "stop_requested_by").order_by("pk")
    if job_ids is not None:
        jobs = jobs.filter(pk__in=list(job_ids))
    by_engine: dict[str, list[Job]] = {}
    for job in jobs:
        by_engine.setdefault(job.pool.engine, []).append(job)
    for kind, mine in by_engine.items():
        _attend_engine(engine_of(kind), mine)


def _attend_engine(engine: Engine, jobs: Sequence[Job]) -> None:
    looks = engine.look([attempt_key(job) for job in jobs])
    workers = Worker.objects.order_by("rank")
    attempts = {
        a.job_id: a
        for a in Attempt.objects.filter(job__in=[j.pk for j in jobs], ended_at=None).prefetch_related(
            Prefetch("workers", workers)
        )
    }
    for job in jobs:
        attempt = attempts.get(job.pk)
        if attempt is None or attempt.number != job.attempt:
            continue  # moved on since it was read
        try:
            _attend_one(engine, job, attempt, looks.get(attempt_key(job), ()))
        except EngineError as error:
            logger.warning("%s: the engine cannot now: %s", job.key, error)
        except Exception:  # one job's trouble must not keep the others waiting
            logger.exception("%s: attending failed", job.key)


def _attend_one(engine: Engine, job: Job, attempt: Attempt, looks: Sequence[WorkerLook]) -> None:
    workers = list(attempt.workers.all())
    asked = job.stop_requested_at
    verdict = judge(
        Standing(
            looks,
            expected=len(workers),
            stop_requested_at=asked.timestamp() if asked else None,
            stop_grace_s=JobSpec.from_json(job.request).stop_grace_seconds,
        )
    )
    _record(attempt, workers, looks, verdict)
    if verdict.start:
        _start(engine, job, attempt, workers)
    elif verdict.stop is not None:
        engine.stop(attempt_key(job), verdict.stop)
    elif verdict.end is not None:
        engine.stop(attempt_key(job), 0)  # what never started stays so, whoever comes late
        _end(job, attempt, verdict)
    elif verdict.running:
        _running(job, attempt)
    if verdict.step and verdict.step != job.deploy_step and job.state == State.DEPLOYING:
        Job.objects.filter(pk=job.pk, state=State.DEPLOYING).update(deploy_step=verdict.step)


def _start(engine: Engine, job: Job, attempt: Attempt, workers: Sequence[Worker]) -> None:
    try:
        launch(job, attempt, workers, engine)
    except InvalidToken:
        engine.stop(attempt_key(job), 0)
        _end(job, attempt, Verdict(end=State.FAILED, reason=Reason("private_value_unreadable")))


def _record(
    attempt: Attempt, workers: Sequence[Worker], looks: Sequence[WorkerLook], verdict: Verdict
) -> None:
    """Keeps what was seen of each Worker; rows that say it already are not written."""
    by_rank = {look.rank: look for look in looks}
    for worker in workers:
        look = by_rank.get(worker.rank)
        if look is not None:
            _record_worker(worker, look)
    if verdict.first_failure is not None and attempt.first_failure is None:
        attempt.first_failure = verdict.first_failure
        attempt.save(update_fields=["first_failure"])
        event(attempt.job_id, "worker_failed", **verdict.first_failure)
    started = [look.started_at for look in looks if look.started_at]
    if started and attempt.started_at is None:
        attempt.started_at = _time(min(started))
        attempt.save(update_fields=["started_at"])


def _record_worker(worker: Worker, look: WorkerLook) -> None:
    seen = (look.exit_code, look.signal, _time(look.started_at), _time(look.ended_at))
    if seen != (worker.exit_code, worker.signal, worker.started_at, worker.ended_at):
        worker.exit_code, worker.signal, worker.started_at, worker.ended_at = seen
        worker.save(update_fields=["exit_code", "signal", "started_at", "ended_at"])


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _running(job: Job, attempt: Attempt) -> None:
    if move([job.pk], State.DEPLOYING, State.RUNNING):
        Job.objects.filter(pk=job.pk).update(started_at=attempt.started_at)


def _end(job: Job, attempt: Attempt, verdict: Verdict) -> None:
    """Ends the job; a command that ran and ended between two looks was running in between."""
    if verdict.end is None:
        return
    actor = job.stop_requested_by if verdict.end == State.STOPPED else None
    with transaction.atomic():
        if attempt.started_at is not None:
            _running(job, attempt)
        old = State.DEPLOYING if attempt.started_at is None else State.RUNNING
        if move([job.pk], old, verdict.end, reason=verdict.reason, actor=actor):
            Job.objects.filter(pk=job.pk).update(exit_code=verdict.exit_code)
