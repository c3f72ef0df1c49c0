"""Jobs made from earlier ones: reruns, and jobs that take the place of a waiting one."""

from __future__ import annotations

from dataclasses import replace

from django.db import transaction

from jobs.estimate import SHOWN_RANKS, Estimate, Promise, read_ahead
from jobs.findings import Reason
from jobs.lifecycle import move
from jobs.models import Job
from jobs.reading import channels_read, request_read
from jobs.rerun import NOTHING, Changes, Repeater, Rerun, in_words_of_rerun, rerun_of, unknown_private
from jobs.services import Origin, RequestRefused, job_create, job_estimate, may_stop
from jobs.spec import JobSpec
from jobs.states import OriginKind, State
from pools.models import Pool
from pools.services import pool_lock
from teams.models import User


class NotReplaced(Exception):
    """The job that was to be replaced waits no longer, or is not its sender's to stop (`may` is False)."""

    def __init__(self, job: Job, *, may: bool) -> None:
        super().__init__(f"{job.key} is {job.state}")
        self.job = job
        self.may = may


def rerun_request(*, user: User, job: Job, changes: Changes = NOTHING) -> Rerun:
    """What a rerun of the job would ask for. RequestRefused where a private value is for no private
    variable of the job."""
    if unknown := unknown_private(job.spec_asked, changes.private):
        raise RequestRefused(unknown)
    asked = job.spec_to_repeat
    _spec, facts = request_read(user, asked)
    repeater = Repeater(facts.may_use_high_priority, channels_read(user.pk, job.team_id))
    return rerun_of(asked, job.key, changes, facts.pool, repeater)


def job_rerun(
    *, user: User, job: Job, changes: Changes = NOTHING, promise: Promise | None = None
) -> tuple[Job, Rerun]:
    """The request of the job once more, but for the changes: the new job, and what it was made by. The user
    sees the job.

    RequestRefused, WouldWait and PromiseBroken as from `job_create`; what is gone by now is named.
    """
    rerun = rerun_request(user=user, job=job, changes=changes)
    origin = Origin(job.pk, OriginKind.MODIFIED if rerun.modified else OriginKind.RERUN)
    try:
        return job_create(user=user, spec=rerun.spec, promise=promise, origin=origin), rerun
    except RequestRefused as refused:
        raise RequestRefused(
            in_words_of_rerun(refused.findings, job.spec_asked, rerun.spec, job.frozen)
        ) from refused


def rerun_estimate(
    *, user: User, job: Job, changes: Changes = NOTHING, ranks: int = SHOWN_RANKS
) -> tuple[Estimate, Rerun]:
    """What would happen to the rerun now; nothing is stored. RequestRefused as from `rerun_request`."""
    rerun = rerun_request(user=user, job=job, changes=changes)
    judged = job_estimate(user=user, spec=rerun.spec, ranks=ranks)
    found = in_words_of_rerun(judged.findings, job.spec_asked, rerun.spec, job.frozen)
    return replace(judged, findings=tuple(found)), rerun


def job_replace(*, user: User, spec: JobSpec, promise: Promise, replaced: Job) -> Job:
    """The new job in the place of a waiting one, which is stopped in the same step: both happen, or nothing.

    NotReplaced; RequestRefused, WouldWait and PromiseBroken as from `job_create`, and then the other goes
    on waiting. It is out of the queue by the time the new one is judged.
    """
    if not may_stop(user=user, job=replaced):
        raise NotReplaced(replaced, may=False)
    read_ahead(spec)
    with transaction.atomic():
        touched = Pool.objects.filter(pk__in={spec.pool or replaced.pool_id, replaced.pool_id})
        for pool_id in sorted(touched.values_list("pk", flat=True)):  # two at most, in the order of all
            pool_lock(pool_id=pool_id)
        reason = Reason("replaced")
        if not move([replaced.pk], State.QUEUED, State.STOPPED, reason=reason, actor=user):
            replaced.refresh_from_db()
            raise NotReplaced(replaced, may=True)
        origin = Origin(replaced.pk, OriginKind.REPLACEMENT)
        return job_create(user=user, spec=spec, promise=promise, origin=origin)
