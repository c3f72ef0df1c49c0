"""Holds, node states, and the counts that follow from them: all under the pool's row lock."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count, F, QuerySet

from pools.bulk import bulk_insert, bulk_update
from pools.capacity import idle_nodes_of
from pools.hints import pool_changed
from pools.models import Flavor, Grant, Hold, Node, NodeState, Pool
from pools.notices import nodes_told


@dataclass(frozen=True, slots=True)
class Taken:
    """GPUs of one node that one Worker is to hold."""

    node: int
    gpus: int


def pool_lock(*, pool_id: int) -> Pool:
    """The lock for everything below; to be taken before any job is locked. Pool.DoesNotExist."""
    pool: Pool = Pool.objects.select_for_update(no_key=True).get(pk=pool_id)
    return pool


def gpus_choose(*, wanted: Sequence[Taken]) -> list[list[int]]:
    """Free GPU indices for each of `wanted`, lowest first. The pool is locked, and the GPUs are there."""
    sizes = dict(
        Node.objects.filter(pk__in={w.node for w in wanted}).values_list("pk", "flavor__gpus_per_node")
    )
    used: dict[int, set[int]] = defaultdict(set)
    for node, gpu in Hold.objects.filter(node__in=sizes).values_list("node", "gpu"):
        used[node].add(gpu)
    free = {node: iter([g for g in range(size) if g not in used[node]]) for node, size in sizes.items()}
    return [[next(free[w.node]) for _ in range(w.gpus)] for w in wanted]


def holds_take(*, worker_ids: Sequence[int], nodes: Sequence[int], gpus: Sequence[Sequence[int]]) -> None:
    """Gives each Worker its GPUs of its node, and keeps the counts. The pool is locked."""
    rows = [(n, g, w) for w, n, indices in zip(worker_ids, nodes, gpus, strict=True) for g in indices]
    bulk_insert(
        Hold,
        {
            "node": [node for node, _, _ in rows],
            "gpu": [gpu for _, gpu, _ in rows],
            "worker_id": [worker for _, _, worker in rows],
        },
    )
    _idle_change(Counter({node: -n for node, n in Counter(node for node, _, _ in rows).items()}))


def holds_free(*, worker_ids: Iterable[int]) -> None:
    """Takes the Workers' GPUs back. The pool is locked. Workers without holds are no error."""
    holds = Hold.objects.filter(worker_id__in=list(worker_ids))
    freed = dict(holds.values_list("node").annotate(n=Count("pk")))
    holds.delete()
    _idle_change(freed)


def _idle_change(by_node: Mapping[int, int]) -> None:
    """Adds to `Node.idle`, and moves schedulable nodes to another column of `Flavor.idle_nodes`."""
    nodes = list(Node.objects.filter(pk__in=by_node).values_list("pk", "flavor_id", "idle", "schedulable"))
    bulk_update(
        Node,
        {"id": [pk for pk, *_ in nodes], "idle": [idle + by_node[pk] for pk, _, idle, _ in nodes]},
    )
    moves: dict[int, Counter[int]] = defaultdict(Counter)
    for pk, flavor, idle, schedulable in nodes:
        if schedulable:
            moves[flavor][idle] -= 1
            moves[flavor][idle + by_node[pk]] += 1
    for flavor in Flavor.objects.filter(pk__in=moves):
        flavor.idle_nodes = [n + moves[flavor.pk][k] for k, n in enumerate(flavor.idle_nodes)]
        flavor.save(update_fields=["idle_nodes"])


def grant_change(*, pool: Pool, gpus_by_team: Mapping[int, int]) -> None:
    """Adds to the GPUs that teams hold of the pool. The pool is locked."""
    for team, gpus in sorted(gpus_by_team.items()):
        if gpus:
            Grant.objects.filter(pool=pool, team_id=team).update(held_gpus=F("held_gpus") + gpus)


def node_set_state(*, nodes: QuerySet[Node], state: NodeState) -> int:
    """Puts nodes into a state; answers how many. GPUs that are held stay held until their Workers have ended.

    ValueError if a node is to be retired while Workers are on it.
    """
    changed = 0
    pools = sorted(set(nodes.values_list("flavor__pool", flat=True)))
    with transaction.atomic():
        for pool_id in pools:
            pool = pool_lock(pool_id=pool_id)
            mine = Node.objects.filter(pk__in=list(nodes.values_list("pk", flat=True)), flavor__pool=pool_id)
            if state == NodeState.RETIRED and Hold.objects.filter(node__in=mine).exists():
                raise ValueError("a node with Workers cannot be retired")
            new = list(mine.exclude(state=state).order_by("name"))
            changed += mine.update(state=state, schedulable=state == NodeState.READY)
            nodes_told(pool=pool, nodes=new, state=state)
            counts_refresh(pool_id=pool_id)
            pool_changed(pool_id)
    return changed


def nodes_create(*, flavor: Flavor, names: Sequence[str]) -> None:
    """Adds nodes in service to a flavor."""
    with transaction.atomic():
        pool_lock(pool_id=flavor.pool_id)
        Node.objects.bulk_create([Node(flavor=flavor, name=n, idle=flavor.gpus_per_node) for n in names])
        counts_refresh(pool_id=flavor.pool_id)
        pool_changed(flavor.pool_id)


@dataclass(frozen=True, slots=True)
class Miscount:
    """A kept count that differs from what the holds say."""

    what: str
    name: str
    kept: object
    counted: object


def counts_check(*, pool_id: int) -> list[Miscount]:
    """Recounts a pool from its holds and tells each difference. The pool is locked by the caller."""
    wrong: list[Miscount] = []
    held = dict(Hold.objects.filter(node__flavor__pool=pool_id).values_list("node").annotate(n=Count("pk")))
    for flavor in Flavor.objects.filter(pool=pool_id).prefetch_related("nodes"):
        nodes = list(flavor.nodes.all())
        for node in nodes:
            idle = flavor.gpus_per_node - held.get(node.pk, 0)
            _compare(wrong, "node.idle", node.name, node.idle, idle)
            _compare(wrong, "node.schedulable", node.name, node.schedulable, node.state == NodeState.READY)
        ready = [flavor.gpus_per_node - held.get(n.pk, 0) for n in nodes if n.state == NodeState.READY]
        counted = idle_nodes_of(ready, flavor.gpus_per_node)
        _compare(wrong, "flavor.idle_nodes", flavor.name, flavor.idle_nodes, counted)
        in_pool = sum(n.state != NodeState.RETIRED for n in nodes)
        _compare(wrong, "flavor.node_count", flavor.name, flavor.node_count, in_pool)
    return wrong


def _compare(wrong: list[Miscount], what: str, name: str, kept: object, counted: object) -> None:
    if kept != counted:
        wrong.append(Miscount(what, name, kept, counted))


def counts_refresh(*, pool_id: int) -> None:
    """Writes the counts of a pool anew from its holds and node states. The pool is locked."""
    held = dict(Hold.objects.filter(node__flavor__pool=pool_id).values_list("node").annotate(n=Count("pk")))
    for flavor in Flavor.objects.filter(pool=pool_id):
        nodes = list(flavor.nodes.all())
        for node in nodes:
            node.idle = flavor.gpus_per_node - held.get(node.pk, 0)
            node.schedulable = node.state == NodeState.READY
        Node.objects.bulk_update(nodes, ["idle", "schedulable"], batch_size=500)
        flavor.idle_nodes = idle_nodes_of([n.idle for n in nodes if n.schedulable], flavor.gpus_per_node)
        flavor.node_count = sum(n.state != NodeState.RETIRED for n in nodes)
        flavor.save(update_fields=["idle_nodes", "node_count"])
