"""Reads who waits in the queues of pools, by classes, and the nodes that they avoid."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from jobs.facts import NodesFacts, PoolFacts, WaitingFacts
from jobs.models import Job, WaitingTotal
from jobs.queue import avoided_ids
from jobs.states import State
from pools.capacity import Shape
from pools.compiled import Asking, Compiled
from pools.models import Node, NodeState
from pools.placement import MarkedNode

CLASS_FIELDS = ("flavor", "priority", "team", "worker_gpus", "total_gpus", "avoided")


def eligible_jobs(now: datetime | None = None, /, **waiting_class: object) -> QuerySet[Job]:
    """The jobs of a class that may start now, oldest first. The class is given by CLASS_FIELDS."""
    return Job.objects.filter(
        state=State.QUEUED, stop_requested_at=None, eligible_at__lte=now or timezone.now(), **waiting_class
    ).order_by("pk")


def later_count(now: datetime | None = None, /, **waiting_class: object) -> Coalesce:
    """How many jobs of a class may not start yet; to be annotated."""
    moment = now or timezone.now()
    later = Job.objects.filter(state=State.QUEUED, eligible_at__gt=moment, **waiting_class).order_by()
    return Coalesce(Subquery(later.values("flavor").annotate(n=Count("pk")).values("n")), 0)


def _waiting(now: datetime, *pool_ids: int) -> QuerySet[WaitingTotal, Any]:
    own = {name: OuterRef(name) for name in CLASS_FIELDS}
    first = Subquery(eligible_jobs(now, **own).values("pk")[:1])
    totals = WaitingTotal.objects.filter(pool__in=pool_ids, jobs__gt=0)
    return totals.annotate(first=first, later=later_count(now, **own)).values_list(
        "pool", *CLASS_FIELDS, "jobs", "first", "later"
    )


_WAITING = Compiled(_waiting)


def waiting_asking(pool: PoolFacts | None) -> Asking | None:
    return _WAITING.asking(timezone.now(), pool.id) if pool else None


def waiting_of(row: Sequence[Any]) -> WaitingFacts:
    _pool, flavor, priority, team, worker_gpus, total_gpus, avoided, jobs, first, later = row
    shape = Shape(worker_gpus, total_gpus)
    return WaitingFacts(flavor, priority, team, shape, jobs, first, later, avoided_ids(avoided))


def waiting_read(pool_id: int) -> tuple[WaitingFacts, ...]:
    """The classes in which jobs wait, each with its oldest job that may start."""
    return tuple(waiting_by_pool([pool_id])[pool_id])


def waiting_by_pool(pool_ids: Collection[int]) -> dict[int, list[WaitingFacts]]:
    """As `waiting_read`, for several pools in one query; a pool where nobody waits has an empty list."""
    found: dict[int, list[WaitingFacts]] = {pool_id: [] for pool_id in pool_ids}
    for row in _WAITING.rows(timezone.now(), *pool_ids):
        found[row[0]].append(waiting_of(row))
    return found


def nodes_read(waiting: Iterable[WaitingFacts]) -> dict[int, NodesFacts]:
    """Of the flavors where waiting jobs avoid nodes, those nodes; asks nothing where none does."""
    avoided = {flavor: nodes for flavor, nodes in _avoided(waiting).items() if nodes}
    if not avoided:
        return {}
    named = frozenset().union(*avoided.values())
    nodes = Node.objects.filter(pk__in=named, flavor__in=avoided).exclude(state=NodeState.RETIRED)
    idle: dict[int, dict[int, int]] = {flavor: {} for flavor in avoided}
    marked: dict[int, dict[int, MarkedNode]] = {flavor: {} for flavor in avoided}
    for flavor, pk, name, gpus, schedulable in nodes.values_list(
        "flavor", "pk", "name", "idle", "schedulable"
    ):
        if pk in avoided[flavor]:
            marked[flavor][pk] = MarkedNode(name, schedulable)
            if schedulable:
                idle[flavor][pk] = gpus
    return {flavor: NodesFacts(idle[flavor], marked[flavor]) for flavor in avoided}


def _avoided(waiting: Iterable[WaitingFacts]) -> dict[int, frozenset[int]]:
    avoided: dict[int, frozenset[int]] = defaultdict(frozenset)
    for w in waiting:
        avoided[w.flavor] |= w.avoided
    return avoided


def marked_read(flavor: int, nodes: Collection[int]) -> dict[int, MarkedNode]:
    """Those of the nodes that are of the flavor and not retired; asks nothing for none."""
    if not nodes:
        return {}
    rows = Node.objects.filter(pk__in=nodes, flavor=flavor).exclude(state=NodeState.RETIRED)
    return {pk: MarkedNode(*row) for pk, *row in rows.values_list("pk", "name", "schedulable")}
