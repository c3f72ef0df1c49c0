"""The picture of the nodes among which the request would land."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from jobs.facts import Facts, FlavorFacts
from jobs.occupancy import nodes_view
from jobs.rules import flavor_of, spec_of
from jobs.spec import JobSpec
from pools.capacity import Shape
from pools.models import Node, NodeState
from pools.picture import NodeView, Picture, Scale, bars_picture, picture, scale_of
from pools.placement import IdleNode, Nodes, landing_counts


@dataclass(frozen=True, slots=True)
class Drawn:
    picture: Picture
    flavor: str


def drawn_of(teams: Collection[int], spec: JobSpec, facts: Facts, *, lands: bool) -> Drawn | None:
    """None while it is not clear which nodes are meant. Many nodes are drawn from the kept counts alone,
    so that a large pool costs no more than a small one."""
    pool = facts.pool
    flavor = (flavor_of(spec, pool) or pool.only_flavor) if pool else None
    if pool is None or flavor is None or not flavor.node_count:
        return None
    worker_spec = spec_of(spec, pool)
    shape = spec.shape(worker_spec.gpus if worker_spec else None) if lands else None
    scale = scale_of(flavor.node_count)
    if scale == Scale.BARS:
        counts = landing_counts(flavor.idle_nodes, shape) if shape else ()
        return Drawn(bars_picture(flavor.idle_nodes, counts, flavor.node_count), flavor.name)
    views = _views(flavor, teams if scale == Scale.CELLS else None)
    landing = _landing(views, shape, flavor) if shape else {}
    return Drawn(picture(views, flavor.idle_nodes, landing, count=flavor.node_count), flavor.name)


def _views(flavor: FlavorFacts, teams: Collection[int] | None) -> list[NodeView]:
    """The flavor's nodes; with whose jobs are on them where there is room to show that."""
    shown = Node.objects.filter(flavor=flavor.id).exclude(state=NodeState.RETIRED).order_by("name", "pk")
    if teams is not None:
        return nodes_view(list(shown.select_related("flavor")), teams)
    rows = shown.values_list("pk", "name", "idle", "state")
    return [NodeView(pk, name, flavor.gpus_per_node, idle, state) for pk, name, idle, state in rows]


def _landing(views: Sequence[NodeView], shape: Shape, flavor: FlavorFacts) -> dict[int, int]:
    """How many GPUs the request would take by node; nothing if it does not fit at this moment."""
    ready = [IdleNode(v.name, v.id, v.idle) for v in views if v.state == NodeState.READY]
    room = Nodes(ready, flavor.gpus_per_node)
    if not room.fits(shape):
        return {}
    taken: Counter[int] = Counter()
    for node, gpus in zip(room.take(shape), shape.gpus_by_rank, strict=True):
        taken[node] += gpus
    return dict(taken)
