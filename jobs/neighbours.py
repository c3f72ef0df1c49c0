"""Reads the other pools of a zone, as far as it takes to tell what would start there now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

from django.db.models import F, FilteredRelation, OuterRef, Q, QuerySet, Subquery

from jobs.alternatives import Neighbour, alternatives, may_start_in, worth_looking
from jobs.estimate import Estimate
from jobs.facts import Facts, PoolFacts, WaitingFacts
from jobs.models import WaitingTotal
from jobs.queue import avoided_ids
from jobs.queued import CLASS_FIELDS, eligible_jobs, later_count, nodes_read
from jobs.reading import pool_facts_of
from jobs.spec import JobSpec
from pools.models import Flavor, Grant, WorkerSpec

SPEC_FIELDS = ("id", "name", "gpus", "cpus", "memory_gib", "shm_gib")


def with_alternatives(judged: Estimate, spec: JobSpec, facts: Facts) -> Estimate:
    """The same answer, and what would start now in the request's place. Asks nothing if the request does."""
    if facts.pool is None or spec.team is None or not worth_looking(judged):
        return judged
    others = neighbours_read(facts.pool, spec.team, partial(may_start_in, spec, facts))
    return replace(judged, alternatives=alternatives(spec, facts, others))


def neighbours_read(
    pool: PoolFacts, team_id: int, has_room: Callable[[Neighbour], bool] = bool
) -> list[Neighbour]:
    """The other pools of the pool's zone that the team may use, if they have room.

    Their quotas are those that the queue asks for: of the team, and of the teams that wait there. Who waits
    is asked only where there is room, in a second query.
    """
    rows = {
        pk: list(of_pool) for pk, of_pool in groupby(_flavors(pool, team_id), key=lambda row: row.pool_id)
    }
    roomy = [pk for pk, of_pool in rows.items() if has_room(_neighbour(team_id, of_pool, []))]
    waiting: dict[int, list[Any]] = defaultdict(list)
    for total in _waiting(roomy) if roomy else ():
        waiting[total.pool_id].append(total)
    return [_neighbour(team_id, rows[pk], waiting[pk]) for pk in roomy]


def _flavors(pool: PoolFacts, team_id: int) -> QuerySet[Flavor]:
    """A row for each spec, and one for a flavor that has none, pool by pool."""
    return (
        Flavor.objects.filter(pool__zone=pool.zone, pool__retired_at=None, pool__grants__team=team_id)
        .exclude(pool=pool.id)
        .select_related("pool__zone")
        .annotate(
            live=FilteredRelation("specs", condition=Q(specs__retired_at=None)),
            held=F("pool__grants__held_gpus"),
            limit=F("pool__grants__max_gpus"),
            **{f"spec_{name}": F(f"live__{name}") for name in SPEC_FIELDS},
        )
        .order_by("pool__name", "pool", "name", "pk")
    )


def _waiting(pool_ids: Iterable[int]) -> QuerySet[WaitingTotal]:
    own = {name: OuterRef(name) for name in CLASS_FIELDS}
    grants = Grant.objects.filter(pool=OuterRef("pool"), team=OuterRef("team"))
    return WaitingTotal.objects.filter(pool__in=pool_ids, jobs__gt=0).annotate(
        first=Subquery(eligible_jobs(**own).values("pk")[:1]),
        later=later_count(**own),
        granted=Subquery(grants.values("pk")[:1]),
        held=Subquery(grants.values("held_gpus")[:1]),
        limit=Subquery(grants.values("max_gpus")[:1]),
    )


def _neighbour(team_id: int, rows: list[Any], waiting: list[Any]) -> Neighbour:
    held = {team_id: (rows[0].held, rows[0].limit)}
    held |= {total.team_id: (total.held, total.limit) for total in waiting if total.granted is not None}
    pool = pool_facts_of(
        rows[0].pool,
        [Grant(team_id=team, held_gpus=gpus, max_gpus=limit) for team, (gpus, limit) in held.items()],
        {row.pk: row for row in rows}.values(),
        sorted(
            (_spec(row) for row in rows if row.spec_id is not None), key=lambda spec: (spec.gpus, spec.pk)
        ),
    )
    totals = tuple(
        WaitingFacts(
            *(t.flavor_id, t.priority, t.team_id, t.shape, t.jobs, t.first, t.later), avoided_ids(t.avoided)
        )
        for t in waiting
    )
    return Neighbour(pool, totals, nodes_read(totals))


def _spec(row: Any) -> WorkerSpec:
    return WorkerSpec(flavor_id=row.pk, **{name: getattr(row, f"spec_{name}") for name in SPEC_FIELDS})
