"""Why waiting jobs wait, and their places: for one, or for many at once in a fixed number of queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Count, OuterRef, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from jobs.estimate import QueuePlace, waiting_reason
from jobs.facts import Facts, PoolFacts, WaitingFacts
from jobs.findings import Reason
from jobs.models import Job
from jobs.queued import CLASS_FIELDS, eligible_jobs, nodes_read, waiting_by_pool, waiting_read
from jobs.reading import pool_facts_of
from jobs.states import State
from pools.models import Flavor, Grant, Pool


def job_waiting(job: Job) -> tuple[QueuePlace, Reason | None]:
    """The place of a waiting job in its pool's queue, and why it waits; None if the next cycle starts it."""
    return _place(job, waiting_read(job.pool_id)), reasons_read([job])[job.pk]


def waits_read(jobs: Sequence[Job]) -> dict[int, tuple[int, Reason | None]]:
    """The same for several waiting jobs, by id, of the place only its number."""
    if not jobs:
        return {}
    reasons, waiting = reasons_read(jobs), waiting_by_pool({job.pool_id for job in jobs})
    same = {name: OuterRef(name) for name in ("pool", "priority")}
    before = Job.objects.filter(**same, state=State.QUEUED, pk__lt=OuterRef("pk")).order_by()
    count = Subquery(before.values("pool").annotate(n=Count("pk")).values("n"))
    rows = Job.objects.filter(pk__in=[job.pk for job in jobs]).annotate(before=Coalesce(count, 0))
    older = dict(rows.values_list("pk", "before"))
    return {job.pk: (1 + older[job.pk] + _higher(job, waiting[job.pool_id]), reasons[job.pk]) for job in jobs}


def _higher(job: Job, waiting: Sequence[WaitingFacts]) -> int:
    return sum(w.jobs for w in waiting if w.priority < job.priority)


def reasons_read(jobs: Sequence[Job]) -> dict[int, Reason | None]:
    """By job id, for waiting jobs; None where the next cycle of the queue starts the job."""
    if not jobs:
        return {}
    pools = _pools({job.pool_id for job in jobs})
    waiting = waiting_by_pool(pools.keys())
    nodes = nodes_read(w for of_pool in waiting.values() for w in of_pool)
    older = _older(jobs)
    now = timezone.now()
    reasons: dict[int, Reason | None] = {}
    for job in jobs:
        if job.eligible_at > now:
            reasons[job.pk] = Reason("backing_off", {"until": job.eligible_at.isoformat()})
            continue
        ahead = tuple(_before(w, job, older[job.pk]) for w in waiting[job.pool_id])
        facts = Facts(now=now, teams=frozenset(), pool=pools[job.pool_id], waiting=ahead, nodes=nodes)
        reasons[job.pk] = waiting_reason(facts, pools[job.pool_id], job.waiting_class)
    return reasons


def _pools(ids: Collection[int]) -> dict[int, PoolFacts]:
    grants, flavors = _by_pool(Grant, ids), _by_pool(Flavor, ids)
    pools = Pool.objects.filter(pk__in=ids).select_related("zone")
    return {p.pk: pool_facts_of(p, grants[p.pk], flavors[p.pk], []) for p in pools}


def _by_pool(model: type[Any], ids: Collection[int]) -> dict[int, list[Any]]:
    rows: dict[int, list[Any]] = defaultdict(list)
    for row in model.objects.filter(pool__in=ids):
        rows[row.pool_id].append(row)
    return rows


def _older(jobs: Sequence[Job]) -> dict[int, int]:
    """How many jobs of its own class are before each."""
    same = {name: OuterRef(name) for name in CLASS_FIELDS}
    before = eligible_jobs(**same).filter(pk__lt=OuterRef("pk")).order_by()
    count = Subquery(before.values("flavor").annotate(n=Count("pk")).values("n"))
    rows = Job.objects.filter(pk__in=[job.pk for job in jobs]).annotate(older=Coalesce(count, 0))
    return dict(rows.values_list("pk", "older"))


def _before(waiting: WaitingFacts, job: Job, older: int) -> WaitingFacts:
    """Of the job's own class only those before it are ahead of it."""
    own = job.waiting_class
    key = (waiting.flavor, waiting.priority, waiting.team, waiting.shape, waiting.avoided)
    return (
        replace(waiting, jobs=older, later=0)
        if key == (own.flavor, own.priority, own.team, own.shape, own.avoided)
        else waiting
    )


def _place(job: Job, waiting: Sequence[WaitingFacts]) -> QueuePlace:
    """Behind all of higher priorities, which are summed up already, and the older ones of its own."""
    higher = [w for w in waiting if w.priority < job.priority]
    older = Job.objects.filter(
        pool=job.pool_id, state=State.QUEUED, priority=job.priority, pk__lt=job.pk
    ).aggregate(jobs=Count("pk"), gpus=Coalesce(Sum("total_gpus"), 0))
    ahead = older["jobs"] + sum(w.jobs for w in higher)
    return QueuePlace(ahead + 1, ahead, older["gpus"] + sum(w.jobs * w.shape.total_gpus for w in higher))
