"""Trial runs: what is on a form, with one Worker and for a few minutes, before the job itself is created."""

from __future__ import annotations

from dataclasses import replace

from django.db import IntegrityError, transaction

from jobs.estimate import read_ahead
from jobs.facts import PoolFacts
from jobs.findings import Finding
from jobs.models import Job
from jobs.querysets import JobQuerySet
from jobs.rules import rdma_allowed
from jobs.services import RequestRefused, job_create
from jobs.spec import JobSpec
from jobs.states import LIVE
from teams.models import User

MOST_MINUTES = 10
MOST_GPUS = 8  # with a custom GPU count: what one Worker takes


def trial_of(spec: JobSpec, pool: PoolFacts | None, name: str) -> JobSpec:
    """The same request with one Worker, for a short time and without restarts; nobody is told of it. It
    may wait, whatever the job itself may do."""
    gpus = spec.custom_gpus
    trial = replace(
        spec,
        name=name,
        worker_count=1 if gpus is None else None,
        custom_gpus=None if gpus is None else min(gpus, MOST_GPUS),
        env_check=False,
        alerts=(),
        auto_restart=False,
        hang_action=None if spec.hang_action == "restart" else spec.hang_action,
        max_runtime_minutes=min(spec.max_runtime_minutes or MOST_MINUTES, MOST_MINUTES),
        start_policy="queue",
    )
    return replace(trial, rdma=trial.rdma and pool is not None and rdma_allowed(trial, pool))


def trials_of(user: User, draft: str) -> JobQuerySet:
    """The trials of a form, the latest first; none without its token."""
    jobs: JobQuerySet = Job.objects.for_user(user).filter(creator=user).exclude(draft="")
    return jobs.filter(draft=_kept(draft)).order_by("-pk")


def trial_create(*, user: User, spec: JobSpec, draft: str) -> tuple[Job, bool]:
    """The trial of the form that is under way, whatever the form holds by now, else a new one; and whether it
    is new. RequestRefused as from `job_create`; a trial that its creator may not see any more keeps them
    from another one of the same form."""
    trials = trials_of(user, draft)
    read_ahead(spec)
    try:
        with transaction.atomic():
            job: Job | None = trials.filter(state__in=LIVE).first()
            if job is not None:
                return job, False
            job = job_create(user=user, spec=spec)
            Job.objects.filter(pk=job.pk).update(draft=_kept(draft))
            return job, True
    except IntegrityError:  # sent twice at a time: the database keeps the first, which may have ended since
        latest: Job | None = trials.first()
        if latest is None:  # theirs, of a team that they have left
            raise RequestRefused([Finding("team_unknown", "team")]) from None
        return latest, False


def _kept(draft: str) -> str:
    """As much of a form's token as is stored."""
    return draft[: Job.DRAFT_SIGNS]
