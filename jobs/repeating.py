"""Reruns: jobs made from earlier ones."""

from __future__ import annotations

from dataclasses import replace

from jobs.estimate import SHOWN_RANKS, Estimate, Promise
from jobs.models import Job
from jobs.reading import request_read
from jobs.rerun import NOTHING, Changes, Rerun, in_words_of_rerun, rerun_of, unknown_private
from jobs.services import Origin, RequestRefused, job_create, job_estimate
from jobs.states import OriginKind
from teams.models import User


def rerun_request(*, user: User, job: Job, changes: Changes = NOTHING) -> Rerun:
    """What a rerun of the job would ask for. RequestRefused where a private value is for no private
    variable of the job."""
    if unknown := unknown_private(job.spec_asked, changes.private):
        raise RequestRefused(unknown)
    _spec, facts = request_read(user, job.spec_asked)
    return rerun_of(job.spec_asked, job.key, changes, facts.pool)


def job_rerun(*, user: User, job: Job, changes: Changes = NOTHING, promise: Promise | None = None) -> Job:
    """The request of the job once more, but for the changes. The user sees the job.

    RequestRefused, WouldWait and PromiseBroken as from `job_create`; what is gone by now is named.
    """
    rerun = rerun_request(user=user, job=job, changes=changes)
    origin = Origin(job.pk, OriginKind.MODIFIED if rerun.modified else OriginKind.RERUN)
    try:
        return job_create(user=user, spec=rerun.spec, promise=promise, origin=origin)
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
