"""The end of an attempt: its job ends with it, or goes back to the queue."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from signal import SIGKILL

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from jobs.faults import MOST_PLATFORM_RESTARTS
from jobs.findings import Reason
from jobs.lifecycle import events_date, move, requeue, restart
from jobs.models import Attempt, Job
from jobs.states import State
from pools.services import pool_lock
from runs.checked import moved_elsewhere
from runs.deployment import record_broken
from runs.kept import files_keep
from runs.stages import Broken, Deployment, step_of
from runs.verdict import Verdict, restart_pause


def finish(job: Job, attempt: Attempt, verdict: Verdict) -> None:
    """Ends the job, if it still is in this attempt. A stop that was asked for since `job` was read is another
    thing to judge, which the next look does: what was seen before knows nothing of it."""
    verdict = _with_killed(job, attempt, verdict)
    if verdict.end is None:
        return
    asked = verdict.reason is not None and verdict.reason.code == "stopped_by_user"
    actor = job.stop_requested_by if asked else None
    with transaction.atomic():
        pool_lock(pool_id=job.pool_id)  # before any job: the order of all who take both
        if not _as_judged(job, attempt):
            return
        old = State.DEPLOYING if attempt.started_at is None else State.RUNNING
        if _goes_on(job, attempt, old, verdict):
            _end_time(job, attempt)
            return
        told = _used_up(job, verdict)
        if verdict.end == State.FAILED and verdict.reason and attempt.started_at is None:
            step = step_of(verdict.reason, Deployment.from_json(attempt.deployment))
            record_broken(attempt, Broken(step, timezone.now().timestamp(), verdict.reason))
        if move([job.pk], old, verdict.end, reason=verdict.reason, actor=actor, **told):
            Job.objects.filter(pk=job.pk).update(exit_code=verdict.exit_code, **_end_time(job, attempt))
            if verdict.end == State.FAILED:
                files_keep(job=job, attempt=attempt)


def _as_judged(job: Job, attempt: Attempt) -> bool:
    """Whether the job still is in this attempt and nobody has asked for its end meanwhile; stays so until the
    transaction ends. Its pool is locked."""
    row = Job.objects.select_for_update(no_key=True).filter(pk=job.pk, attempt=attempt.number)
    found = row.values_list("stop_requested_at").first()
    return found is not None and (found[0] is None or job.stop_requested_at is not None)


def _goes_on(job: Job, attempt: Attempt, old: State, verdict: Verdict) -> bool:
    """Whether the job is back in the queue instead of at its end."""
    if verdict.reason is None:
        return False
    if verdict.cut is not None and verdict.cut.platform:
        return _left_node(job, attempt, old, verdict.reason)
    if verdict.end == State.FAILED and moved_elsewhere(job, attempt, old, verdict.reason):
        return True
    return verdict.restartable and _restarted(job, old, verdict.reason)


def _left_node(job: Job, attempt: Attempt, old: State, reason: Reason) -> bool:
    """After a fault of the platform: what had not started is queued again; what had, where restarts are
    asked for, never goes to those nodes again."""
    if old == State.DEPLOYING:
        return requeue(job.pk, old, reason=reason)
    if not job.max_restarts or attempt.fault is None:
        return False
    return requeue(job.pk, old, reason=reason, avoid=attempt.fault["nodes"], most=MOST_PLATFORM_RESTARTS)


def _with_killed(job: Job, attempt: Attempt, verdict: Verdict) -> Verdict:
    """With the reason of an end that was asked for: how many Workers had to be killed after their grace."""
    cut, reason = verdict.cut, verdict.reason
    if verdict.end is None or cut is None or reason is None:
        return verdict
    grace = job.request["stop_grace_seconds"] if cut.grace_s is None else cut.grace_s
    after = datetime.fromtimestamp(cut.at + grace, UTC)
    killed = attempt.workers.filter(signal=SIGKILL, ended_at__gte=after).count()
    if not killed or not grace:
        return verdict
    told = {**reason.data, "killed": {"workers": killed, "seconds": round(grace)}}
    return replace(verdict, reason=replace(reason, data=told))


def _used_up(job: Job, verdict: Verdict) -> dict[str, int]:
    """What the last event tells of restarts, if there were some and none is left."""
    platform = verdict.cut is not None and verdict.cut.platform
    if platform and job.platform_restarts >= MOST_PLATFORM_RESTARTS:
        return {"platform_restarts_used_up": job.platform_restarts}
    if verdict.restartable and 0 < job.max_restarts <= job.restarts:
        return {"restarts_used_up": job.restarts}
    return {}


def _restarted(job: Job, old: State, reason: Reason) -> bool:
    """Whether the job goes back to the queue, to run once more after a pause."""
    pause = restart_pause(
        job.restarts + 1, settings.RESTART_PAUSE_SECONDS, settings.LONGEST_RESTART_PAUSE_SECONDS
    )
    return restart(job.pk, old, reason=reason, pause=timedelta(seconds=pause))


def _end_time(job: Job, attempt: Attempt) -> dict[str, datetime]:
    """When the last Worker ended, also for the event that was just written of it: it may be long before the
    console came to see it."""
    last = attempt.workers.aggregate(last=Max("ended_at"))["last"]
    if last is None:
        return {}
    Attempt.objects.filter(pk=attempt.pk).update(ended_at=last)
    events_date({job.pk: last})
    return {"ended_at": last}
