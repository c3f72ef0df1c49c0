"""What would start now in place of a job that waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from django.utils import timezone

from jobs.alternatives import alternatives, may_start_in
from jobs.estimate import Alternative
from jobs.facts import Facts, WaitingFacts
from jobs.models import Job
from jobs.neighbours import neighbours_read
from jobs.queue import avoided_text
from jobs.queued import CLASS_FIELDS, eligible_jobs, nodes_read, waiting_read
from jobs.reading import access_read, pool_read
from jobs.states import Priority
from teams.models import User


def instead_of(*, job: Job, user: User) -> tuple[Alternative, ...]:
    """Nearby requests that would start now if they took the place of the waiting job, for somebody who sees
    the job. Nothing where its pool or spec is not to be had any more."""
    access = access_read(user.pk, job.pool_id)
    pool = pool_read(access, job.team_id)
    if pool is None:
        return ()
    waiting = tuple(without(job, waiting_read(job.pool_id)))
    team = access.team(job.team_id)
    facts = Facts(
        now=timezone.now(),
        teams=frozenset(team.id for team in access.teams),
        user=user.pk,
        may_use_high_priority=team is not None and team.may_use_high_priority,
        pool=pool,
        waiting=waiting,
        nodes=nodes_read(waiting),
    )
    spec = replace(job.spec_asked, team=job.team_id, priority=Priority(job.priority).label_code)
    others = neighbours_read(pool, job.team_id, partial(may_start_in, spec, facts))
    return alternatives(spec, facts, others)


def without(job: Job, waiting: Sequence[WaitingFacts]) -> list[WaitingFacts]:
    """Who waits in the pool of a waiting job when the job does not."""
    own = job.waiting_class
    key = (own.flavor, own.priority, own.team, own.shape, own.avoided)
    others = []
    for one in waiting:
        if (one.flavor, one.priority, one.team, one.shape, one.avoided) == key:
            one = _left(job, one)
        if one.jobs > 0:
            others.append(one)
    return others


def _left(job: Job, one: WaitingFacts) -> WaitingFacts:
    """The job's class without it."""
    if job.eligible_at > timezone.now():
        return replace(one, jobs=one.jobs - 1, later=one.later - 1)
    if one.first != job.pk:
        return replace(one, jobs=one.jobs - 1)
    shape = (job.worker_gpus, job.total_gpus)
    key = (job.flavor_id, job.priority, job.team_id, *shape, avoided_text(one.avoided))
    rest = eligible_jobs(**dict(zip(CLASS_FIELDS, key, strict=True))).exclude(pk=job.pk)
    return replace(one, jobs=one.jobs - 1, first=rest.values_list("pk", flat=True).first())
