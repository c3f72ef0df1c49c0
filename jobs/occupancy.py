"""Who holds which GPUs of which nodes, as far as a reader may know."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

from django.db.models import QuerySet
from django.urls import reverse

from jobs.models import Worker
from jobs.states import PLACED
from pools.models import Grant, Hold, Node
from pools.picture import Held, NodeView


class MyJob(NamedTuple):
    """A job of the reader's teams; all others are the one OTHER."""

    id: int
    name: str
    key: str
    owner: str


OTHER = MyJob(0, "", "", "")


class PoolUse(NamedTuple):
    """GPUs of a pool that jobs hold: of one team, and of all others."""

    mine: int
    others: int


def pool_use(*, pool_id: int, team_id: int) -> PoolUse:
    """By what the grants of the pool count; one query."""
    held = dict(Grant.objects.filter(pool=pool_id).values_list("team", "held_gpus"))
    mine = held.pop(team_id, 0)
    return PoolUse(mine, sum(held.values()))


def nodes_view(nodes: Sequence[Node], teams: Collection[int]) -> list[NodeView]:
    """The nodes, whose flavors were read with them, for somebody who belongs to `teams`. Two queries."""
    ids = [node.pk for node in nodes]
    holds = Hold.objects.filter(node__in=ids)
    mine = _my_jobs(holds, teams)
    held: dict[int, dict[MyJob, list[int]]] = defaultdict(lambda: defaultdict(list))
    for node, gpu, worker in holds.order_by("node", "gpu").values_list("node", "gpu", "worker_id"):
        held[node][mine.get(worker, OTHER)].append(gpu)
    return [
        NodeView(
            id=node.pk,
            name=node.name,
            gpus=node.flavor.gpus_per_node,
            idle=node.idle,
            state=node.state,
            held=tuple(_held(job, gpus) for job, gpus in held[node.pk].items()),
        )
        for node in nodes
    ]


def nodes_with_jobs_of(nodes: QuerySet[Node], teams: Collection[int]) -> QuerySet[Node]:
    """Those of the nodes on which a job of the teams holds GPUs."""
    mine = Worker.objects.filter(attempt__job__team__in=teams, attempt__job__state__in=PLACED)
    return nodes.filter(pk__in=Hold.objects.filter(worker_id__in=mine.values("pk")).values("node"))


def _my_jobs(holds: QuerySet[Hold], teams: Collection[int]) -> dict[int, MyJob]:
    """By Worker."""
    rows = Worker.objects.filter(pk__in=holds.values("worker_id"), attempt__job__team__in=teams).values_list(
        "pk", "attempt__job", "attempt__job__name", "attempt__job__key", "attempt__job__creator__username"
    )
    return {worker: MyJob(pk, name, key, owner) for worker, pk, name, key, owner in rows}


def _held(job: MyJob, gpus: Sequence[int]) -> Held:
    if job == OTHER:
        return Held(tuple(gpus))
    return Held(tuple(gpus), job.name, reverse("job", args=[job.key]), job.owner)
