"""Why waiting jobs wait: for many of them at once, in a fixed number of queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from jobs.estimate import waiting_reason
from jobs.facts import Facts, PoolFacts, WaitingFacts
from jobs.findings import Reason
from jobs.models import Job, WaitingTotal
from jobs.reading import CLASS_FIELDS, eligible_jobs, pool_facts_of
from pools.models import Flavor, Grant, Pool

_ROW_OF = {name: OuterRef(name) for name in CLASS_FIELDS}


def reasons_read(jobs: Sequence[Job]) -> dict[int, Reason | None]:
    """By job id, for waiting jobs; None where the next cycle of the queue starts the job."""
    if not jobs:
        return {}
    pools = _pools({job.pool_id for job in jobs})
    totals = _totals(pools)
    older = _older(jobs)
    now = timezone.now()
    reasons = {}
    for job in jobs:
        ahead = tuple(_before(w, job, older[job.pk]) for w in totals[job.pool_id])
        facts = Facts(now=now, teams=frozenset(), pool=pools[job.pool_id], waiting=ahead)
        reasons[job.pk] = waiting_reason(facts, pools[job.pool_id], job.waiting_class)
    return reasons


def _pools(ids: set[int]) -> dict[int, PoolFacts]:
    grants, flavors = _by_pool(Grant, ids), _by_pool(Flavor, ids)
    pools = Pool.objects.filter(pk__in=ids).select_related("zone")
    return {p.pk: pool_facts_of(p, grants[p.pk], flavors[p.pk], []) for p in pools}


def _by_pool(model: type[Any], ids: set[int]) -> dict[int, list[Any]]:
    rows: dict[int, list[Any]] = defaultdict(list)
    for row in model.objects.filter(pool__in=ids):
        rows[row.pool_id].append(row)
    return rows


def _totals(ids: dict[int, PoolFacts]) -> dict[int, list[WaitingFacts]]:
    """The classes in which jobs wait, each with its oldest job that may start."""
    first = Subquery(eligible_jobs(**_ROW_OF).values("pk")[:1])
    found: dict[int, list[WaitingFacts]] = defaultdict(list)
    for t in WaitingTotal.objects.filter(pool__in=list(ids), jobs__gt=0).annotate(first=first):
        found[t.pool_id].append(WaitingFacts(t.flavor_id, t.priority, t.team_id, t.shape, t.jobs, t.first))
    return found


def _older(jobs: Sequence[Job]) -> dict[int, int]:
    """How many jobs of its own class are before each."""
    before = eligible_jobs(**_ROW_OF).filter(pk__lt=OuterRef("pk")).order_by()
    count = Subquery(before.values("flavor").annotate(n=Count("pk")).values("n"))
    rows = Job.objects.filter(pk__in=[job.pk for job in jobs]).annotate(older=Coalesce(count, 0))
    return dict(rows.values_list("pk", "older"))


def _before(waiting: WaitingFacts, job: Job, older: int) -> WaitingFacts:
    """Of the job's own class only those before it are ahead of it."""
    own = job.waiting_class
    key = (waiting.flavor, waiting.priority, waiting.team, waiting.shape)
    return replace(waiting, jobs=older) if key == (own.flavor, own.priority, own.team, own.shape) else waiting
