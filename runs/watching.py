"""Looks at the attempts that hold GPUs and brings their jobs on: the engines' half of the tick.

A pass reads and looks in bulk only to find out for which jobs something is due. What is done for one
of them rests on a fresh read and a fresh look, and every write checks that it still is the state that
was seen: a pass may be slow, and several may run at once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from engines.base import Engine, EngineError, Phase, WorkerLook
from jobs.findings import Reason
from jobs.lifecycle import event, events_date, move
from jobs.models import Attempt, Job, Worker
from jobs.rules.limits import LOST_GRACE_SECONDS
from jobs.states import PLACED, State
from runs.captures import capture_of_itself
from runs.capturing import Allowance, take_before_the_end
from runs.checked import record_checks, record_culprits, release_checked, unread_checks
from runs.deployment import record_begun, record_broken, record_launch, untold_steps
from runs.ending import end_alike
from runs.finishing import finish
from runs.launching import attempt_key, launch
from runs.registry import engine_of
from runs.stages import Deployment
from runs.trouble import start_failed
from runs.verdict import Cut, HangRule, Standing, Verdict, judge
from teams.vault import InvalidToken

logger = logging.getLogger(__name__)

_attended: set[int] = set()
_attended_lock = Lock()


@dataclass(frozen=True, slots=True)
class Sight:
    """A placed job with its current attempt, its Workers in rank order, and a look at each, taken `at`
    (seconds since the epoch)."""

    job: Job
    attempt: Attempt
    workers: tuple[Worker, ...]
    looks: tuple[WorkerLook, ...]
    at: float

    @property
    def verdict(self) -> Verdict:
        standing = Standing(
            looks=self.looks,
            expected=len(self.workers),
            now=self.at,
            first_failed=(self.attempt.first_failure or {}).get("rank"),
            stop_requested_at=_seconds(self.job.stop_requested_at),
            started_at=_seconds(self.attempt.started_at),
            max_runtime_s=self.job.max_runtime_seconds,
            hang=self._hang_rule,
            deployment=self.deployment,
            step_limits=settings.DEPLOY_STEP_SECONDS,
            fault=self._fault,
        )
        if standing.cut is not None:  # the request is large: read only for this
            standing = replace(standing, stop_grace_s=self.job.request["stop_grace_seconds"])
        return judge(standing)

    @property
    def deployment(self) -> Deployment:
        return Deployment.from_json(self.attempt.deployment)

    @property
    def _hang_rule(self) -> HangRule | None:
        job, attempt = self.job, self.attempt
        if job.hang_seconds is None:
            return None
        told = _seconds(attempt.suspected_at), _seconds(attempt.hung_at)
        return HangRule(job.hang_seconds, job.hang_action, *told)

    @property
    def _fault(self) -> Cut | None:
        """The node may be reached no more when it is down: what runs there is given little time."""
        at, fault = _seconds(self.attempt.fault_at), self.attempt.fault
        if at is None or fault is None:
            return None
        reason = Reason(**fault["reason"])
        grace = float(LOST_GRACE_SECONDS) if reason.code == "node_lost" else None
        return Cut(at, State.FAILED, reason, platform=True, grace_s=grace)

    @property
    def due(self) -> bool:
        """Whether this sight asks for anything to be done or written."""
        verdict, job = self.verdict, self.job
        acts = verdict.start or verdict.stop is not None or verdict.end is not None
        tells = verdict.heard or verdict.suspected is not None or verdict.hung is not None
        moves = job.state == State.DEPLOYING and (
            verdict.running or verdict.step not in ("", job.deploy_step)
        )
        seen = untold_steps(self.attempt, self.looks, len(self.workers))
        checked = unread_checks(self.workers, self.looks)
        return bool(acts or tells or moves or seen or checked) or any(_news(*pair) for pair in self._pairs())

    def _pairs(self) -> Iterator[tuple[Worker, WorkerLook]]:
        by_rank = {worker.rank: worker for worker in self.workers}
        return ((by_rank[look.rank], look) for look in self.looks if look.rank in by_rank)

    def record(self) -> None:
        """Keeps what was seen of the Workers."""
        for worker, look in self._pairs():
            news = _news(worker, look)
            if news:
                Worker.objects.filter(pk=worker.pk, ended_at=None).update(**news)
        record_begun(self.attempt, self.looks, len(self.workers))


def attend(job_ids: Iterable[int] | None = None) -> None:
    """Looks once at these jobs, or at all that are placed, and does what is due. Safe to repeat."""
    jobs = Job.objects.placed().light().select_related("pool")
    if job_ids is not None:
        jobs = jobs.filter(pk__in=list(job_ids))
    by_engine: dict[str, list[Job]] = {}
    for job in jobs.order_by("pk"):
        by_engine.setdefault(job.pool.engine, []).append(job)
    allowance = Allowance()
    for kind, mine in by_engine.items():
        engine = engine_of(kind)
        sights = _sights(engine, mine)
        ended = end_alike(sights)
        for sight in sights:
            try:
                if sight.job.pk not in ended and sight.due:
                    _attend_alone(engine, sight.job.pk, allowance)
            except Exception:  # one job's trouble must not keep the others waiting
                logger.exception("job %s: attending failed", sight.job.pk)


def _sights(engine: Engine, jobs: Iterable[Job]) -> list[Sight]:
    """What is seen of the jobs now. A job that has moved on since it was read is left out."""
    jobs = list(jobs)
    looks = engine.look([attempt_key(job) for job in jobs])
    at = timezone.now().timestamp()
    attempts = {
        (attempt.job_id, attempt.number): attempt
        for attempt in Attempt.objects.filter(job__in=jobs, ended_at=None).prefetch_related("workers")
    }
    sights = []
    for job in jobs:
        attempt = attempts.get((job.pk, job.attempt))
        if attempt is not None:
            workers = tuple(sorted(attempt.workers.all(), key=lambda worker: worker.rank))
            seen = looks.get(attempt_key(job), ())
            sights.append(Sight(job, attempt, workers, tuple(_honest(workers, seen)), at))
    return sights


def _honest(workers: Iterable[Worker], looks: Iterable[WorkerLook]) -> Iterator[WorkerLook]:
    """A Worker that was started once and is unknown now is lost: it must never be started again."""
    known = {look.rank: look for look in looks}
    for worker in workers:
        look = known.get(worker.rank, WorkerLook(worker.rank, Phase.ABSENT))
        if look.phase == Phase.ABSENT and worker.started_at is not None:
            look = replace(look, phase=Phase.LOST, started_at=worker.started_at.timestamp())
        yield look


def _attend_alone(engine: Engine, job_id: int, allowance: Allowance) -> None:
    """Attends one job on a fresh sight, unless another thread of this process is at it."""
    with _alone(job_id) as free:
        if not free:
            return
        job = Job.objects.placed().select_related("pool", "stop_requested_by").filter(pk=job_id).first()
        for sight in _sights(engine, [job] if job else []):
            _attend_one(engine, sight, allowance)


@contextmanager
def _alone(job_id: int) -> Iterator[bool]:
    """Spares work, no more: two processes may still attend one job, and all writes bear that."""
    with _attended_lock:
        free = job_id not in _attended
        _attended.add(job_id)
    try:
        yield free
    finally:
        if free:
            _attended.discard(job_id)


def _attend_one(engine: Engine, sight: Sight, allowance: Allowance) -> None:
    job, attempt = sight.job, sight.attempt
    sight.record()
    checks_kept = _keep_checks(sight)
    verdict = sight.verdict
    _record_start(attempt, sight)
    if verdict.running or (verdict.end is not None and attempt.started_at is not None):
        _running(job, attempt)  # also a command that ran and ended between two looks
    _record_failure(sight, verdict)
    _record_silence(job, attempt, verdict)
    if verdict.cut is not None and verdict.cut.broken is not None:
        record_broken(attempt, verdict.cut.broken)
    if verdict.start:
        _start(engine, sight)
    elif verdict.stop is not None:
        _stop(engine, sight, verdict.stop, allowance)
    elif verdict.end is not None:
        _end_if_gone(engine, sight)
    elif checks_kept:
        release_checked(engine, job, sight.workers, sight.looks)
    if verdict.step and verdict.step != job.deploy_step:
        Job.objects.filter(pk=job.pk, state=State.DEPLOYING, attempt=attempt.number).update(
            deploy_step=verdict.step
        )


def _keep_checks(sight: Sight) -> bool:
    """Whether all went well: trouble with what a job printed must never keep it from being ended."""
    job, workers, looks = sight.job, sight.workers, sight.looks
    try:
        with transaction.atomic():
            record_checks(job, workers, looks)
            record_culprits(job, sight.attempt, workers, looks)
    except Exception:
        logger.exception("job %s: the environment check could not be kept", job.pk)
        return False
    return True


def _start(engine: Engine, sight: Sight) -> None:
    job, attempt = sight.job, sight.attempt
    record_launch(attempt, sight.at)
    try:
        launch(job, attempt, sight.workers, engine)
    except InvalidToken:
        reason: Reason | None = Reason("private_value_unreadable")
    except EngineError as error:
        reason = start_failed(job, attempt, str(error), engine.protection().mode)
    else:
        return
    if reason is not None:
        engine.stop(attempt_key(job), 0)
        finish(job, attempt, Verdict(end=State.FAILED, reason=reason))


def _stop(engine: Engine, sight: Sight, grace_s: float, allowance: Allowance) -> None:
    cut = sight.verdict.cut
    _record_limit(sight)
    told_before = any(look.stopped for look in sight.looks)
    if cut is not None and cut.reason.code == "hung" and not told_before:
        take_before_the_end(engine, sight.attempt, allowance)
    engine.stop(attempt_key(sight.job), grace_s)


def _end_if_gone(engine: Engine, sight: Sight) -> None:
    """What never started is told to stay so, and then looked at again: a start may have been under way."""
    if any(look.phase == Phase.ABSENT for look in sight.looks):
        engine.stop(attempt_key(sight.job), 0)
        looks = engine.look([attempt_key(sight.job)]).get(attempt_key(sight.job), ())
        sight = replace(sight, looks=tuple(_honest(sight.workers, looks)))
    if sight.verdict.end is not None:
        finish(sight.job, sight.attempt, sight.verdict)


def _record_start(attempt: Attempt, sight: Sight) -> None:
    started = [look.started_at for look in sight.looks if look.started_at]
    if started and attempt.started_at is None:
        attempt.started_at = _time(min(started))
        Attempt.objects.filter(pk=attempt.pk, started_at=None).update(started_at=attempt.started_at)


def _record_failure(sight: Sight, verdict: Verdict) -> None:
    """Tells the first failure once, whoever sees it first, with the time at which that Worker ended."""
    attempt, failure = sight.attempt, verdict.first_failure
    if failure is None or attempt.first_failure is not None:
        return
    with transaction.atomic():
        # Locked, so that its last event is the one that is dated.
        Job.objects.select_for_update(no_key=True).values_list("pk").get(pk=attempt.job_id)
        untold = Attempt.objects.filter(pk=attempt.pk, first_failure__isnull=True)
        if untold.update(first_failure=failure):
            event(attempt.job_id, "worker_failed", **failure, workers=len(sight.workers))
            ended = next((look.ended_at for look in sight.looks if look.rank == failure["rank"]), None)
            if ended is not None:
                events_date({attempt.job_id: datetime.fromtimestamp(ended, UTC)})


def _record_limit(sight: Sight) -> None:
    """A limit of the request asks for the end as a person would, once, and nobody's name is beside it."""
    job, cut = sight.job, sight.verdict.cut
    if cut is None or cut.end != State.STOPPED or job.stop_requested_at is not None:
        return
    with transaction.atomic():
        mine = Job.objects.filter(pk=job.pk, attempt=sight.attempt.number, stop_requested_at=None)
        if mine.filter(state__in=PLACED).update(stop_requested_at=datetime.fromtimestamp(sight.at, UTC)):
            event(job.pk, "stop_requested", reason=cut.reason.as_json())


def _record_silence(job: Job, attempt: Attempt, verdict: Verdict) -> None:
    """Tells of a silence once in each grade, whoever sees it first."""
    seconds = job.hang_seconds or 0
    if verdict.heard:
        _tell_output(attempt)
    _tell_silence(attempt, "suspected_at", verdict.suspected, "hang_suspected", seconds=seconds)
    _tell_silence(attempt, "hung_at", verdict.hung, "hang", action=job.hang_action, **(verdict.silence or {}))


def _tell_output(attempt: Attempt) -> None:
    """What was told of the silence before holds no longer."""
    told = Attempt.objects.filter(pk=attempt.pk, ended_at=None, suspected_at=attempt.suspected_at)
    with transaction.atomic():
        if told.update(suspected_at=None, hung_at=None):
            event(attempt.job_id, "hang_over")
            attempt.suspected_at = attempt.hung_at = None


def _tell_silence(attempt: Attempt, column: str, at: float | None, code: str, **told: Any) -> None:
    if at is None:
        return
    with transaction.atomic():
        untold = Attempt.objects.filter(pk=attempt.pk, ended_at=None, **{column: getattr(attempt, column)})
        if untold.update(**{column: _time(at)}):
            event(attempt.job_id, code, **told)
            if code == "hang_suspected":
                capture_of_itself(attempt)


def _news(worker: Worker, look: WorkerLook) -> dict[str, object]:
    """What the look knows and the row does not. What is known once is never unknown again."""
    seen = {
        "exit_code": look.exit_code,
        "signal": look.signal,
        "started_at": _time(look.started_at),
        "ended_at": _time(look.ended_at),
    }
    if worker.ended_at is not None:
        return {}
    return {
        name: value for name, value in seen.items() if value is not None and value != getattr(worker, name)
    }


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _seconds(time: datetime | None) -> float | None:
    return None if time is None else time.timestamp()


def _running(job: Job, attempt: Attempt) -> None:
    """The job runs, if it still is in this attempt."""
    with transaction.atomic():
        mine = Job.objects.select_for_update(no_key=True).filter(pk=job.pk, attempt=attempt.number)
        if mine.first() and move([job.pk], State.DEPLOYING, State.RUNNING):
            Job.objects.filter(pk=job.pk).update(started_at=attempt.started_at)
            if attempt.started_at is not None:
                events_date({job.pk: attempt.started_at})
