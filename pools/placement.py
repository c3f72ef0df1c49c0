"""Which node takes which Worker: all or nothing, and best fit.

Best fit is the node with the fewest idle GPUs that still holds the Worker, ties by name,
so that whole nodes stay whole. The same input gives the same answer.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from pools.capacity import Shape, fits, largest_block, startable


class IdleNode(NamedTuple):
    """One schedulable node: sorts by name."""

    name: str
    id: int
    idle: int


@dataclass(frozen=True, slots=True)
class MarkedNode:
    """A node, not retired, that some waiting job avoids."""

    name: str
    schedulable: bool


@dataclass(frozen=True, slots=True)
class NoFit:
    """Why a shape cannot be placed.

    `never` tells that not even all nodes of the flavor, empty, would do. `room` is how many
    full Workers could be placed, `largest_block` the most GPUs idle on one node.
    """

    shape: Shape
    room: int
    largest_block: int
    never: bool = False


NONE: frozenset[int] = frozenset()


class Room(Protocol):
    """Idle GPUs of one flavor from which Workers are taken, by count alone or by node.

    The nodes `apart` are left out, as far as they are marked.
    """

    idle_nodes: list[int]

    def idle_without(self, apart: Collection[int]) -> list[int]:
        """As `idle_nodes`, of the other nodes."""
        ...

    def fits(self, shape: Shape, apart: Collection[int] = NONE) -> bool: ...

    def take(self, shape: Shape, apart: Collection[int] = NONE) -> tuple[int, ...]:
        """Takes all Workers of a shape that fits; answers a node id a rank where nodes have names."""
        ...


class Counts:
    """Room that knows only how many nodes have how many GPUs idle, and of the `marked` nodes, by id, which.

    Of nodes with equally many idle GPUs their names decide; not knowing them, it takes marked ones last.
    """

    def __init__(self, idle_nodes: Sequence[int], marked: Mapping[int, int] | None = None) -> None:
        self.idle_nodes = list(idle_nodes)
        self.marked: dict[int, int] = {}
        among = list(idle_nodes)
        for node, idle in sorted((marked or {}).items()):
            if among[idle]:  # else it was read at another moment than the counts
                among[idle] -= 1
                self.marked[node] = idle

    def idle_without(self, apart: Collection[int]) -> list[int]:
        return _without(self.idle_nodes, self.marked, apart)

    def fits(self, shape: Shape, apart: Collection[int] = NONE) -> bool:
        return fits(self.idle_without(apart), shape)

    def take(self, shape: Shape, apart: Collection[int] = NONE) -> tuple[int, ...]:
        self._fill(shape.worker_gpus, shape.full_workers, apart)
        if shape.remainder:
            self._fill(shape.remainder, 1, apart)
        return ()

    def _fill(self, gpus: int, workers: int, apart: Collection[int]) -> None:
        """Node by node instead of Worker by Worker: one that has taken a Worker has the fewest idle GPUs of
        all, so best fit fills it before the next."""
        for k in range(gpus, len(self.idle_nodes)):
            each = k // gpus
            marked = [node for node, idle in self.marked.items() if idle == k]
            whole, rest = divmod(min(workers, (self.idle_nodes[k] - len(marked)) * each), each)
            self._use(k, each * gpus, whole)
            self._use(k, rest * gpus, bool(rest))
            workers -= whole * each + rest
            for node in marked:
                if node not in apart and workers:
                    here = min(workers, each)
                    self._use(k, here * gpus, 1)
                    self.marked[node] = k - here * gpus
                    workers -= here
        if workers:
            raise ValueError(f"no node has {gpus} GPUs idle")

    def _use(self, k: int, gpus: int, nodes: int) -> None:
        """So many GPUs on so many of the nodes with `k` idle."""
        self.idle_nodes[k] -= nodes
        self.idle_nodes[k - gpus] += nodes


def _without(idle_nodes: list[int], marked: Mapping[int, int], apart: Collection[int]) -> list[int]:
    """The idle counts but for the nodes apart."""
    if not apart:
        return idle_nodes
    left = list(idle_nodes)
    for node in apart:
        if node in marked:
            left[marked[node]] -= 1
    return left


class Nodes:
    """Room that knows each node; it makes the same choices as `Counts`. Only of the `marked` nodes, which
    are few, is it known how many GPUs they have idle: only they can be left out."""

    def __init__(self, nodes: Iterable[IdleNode], gpus_per_node: int, marked: Collection[int] = NONE) -> None:
        self.buckets: list[list[tuple[str, int]]] = [[] for _ in range(gpus_per_node + 1)]
        self.marked: dict[int, int] = {}
        for node in nodes:
            self.buckets[node.idle].append((node.name, node.id))
            if node.id in marked:
                self.marked[node.id] = node.idle
        for bucket in self.buckets:
            heapq.heapify(bucket)
        self.idle_nodes = [len(bucket) for bucket in self.buckets]

    def idle_without(self, apart: Collection[int]) -> list[int]:
        return _without(self.idle_nodes, self.marked, apart)

    def fits(self, shape: Shape, apart: Collection[int] = NONE) -> bool:
        return fits(self.idle_without(apart), shape)

    def take(self, shape: Shape, apart: Collection[int] = NONE) -> tuple[int, ...]:
        return tuple(self.take_one(gpus, apart) for gpus in shape.gpus_by_rank)

    def take_one(self, gpus: int, apart: Collection[int] = NONE) -> int:
        """The node that takes a Worker of so many GPUs; ValueError if none can."""
        k = best_fit(self.idle_without(apart), gpus)
        name, node_id = self._first(self.buckets[k], apart)
        heapq.heappush(self.buckets[k - gpus], (name, node_id))
        self.idle_nodes[k] -= 1
        self.idle_nodes[k - gpus] += 1
        if node_id in self.marked:
            self.marked[node_id] = k - gpus
        return node_id

    def _first(self, bucket: list[tuple[str, int]], apart: Collection[int]) -> tuple[str, int]:
        """Takes the first node by name out of the bucket, but for those apart."""
        passed = []
        while (node := heapq.heappop(bucket))[1] in apart:
            passed.append(node)
        for one in passed:
            heapq.heappush(bucket, one)
        return node


def best_fit(idle_nodes: Sequence[int], gpus: int) -> int:
    """The smallest idle count that holds a Worker; ValueError if no node does."""
    for k in range(gpus, len(idle_nodes)):
        if idle_nodes[k]:
            return k
    raise ValueError(f"no node has {gpus} GPUs idle")


def landing_counts(idle_nodes: Sequence[int], shape: Shape) -> list[int]:
    """On how many nodes best fit would put Workers of a shape that fits, by the idle GPUs they have before.

    A node that has taken a Worker has the fewest idle GPUs of all, so it is filled before the next. Where
    names alone decide whether a smaller last Worker takes a node of its own, it is taken to take none.
    """
    lands, used = [0] * len(idle_nodes), [0] * len(idle_nodes)  # nodes; what is idle on them afterwards
    wanted, gpus = shape.full_workers, shape.worker_gpus
    for k in range(gpus, len(idle_nodes)):
        each = k // gpus
        whole, rest = divmod(min(wanted, idle_nodes[k] * each), each)
        wanted -= whole * each + rest
        lands[k] = whole + (1 if rest else 0)
        used[k - each * gpus] += whole
        used[k - rest * gpus] += 1 if rest else 0
    if shape.remainder:
        left = [nodes - lands[k] + used[k] for k, nodes in enumerate(idle_nodes)]
        k = best_fit(left, shape.remainder)
        lands[k] += 0 if used[k] else 1
    return lands


def why_not(idle_nodes: Sequence[int], all_nodes: Sequence[int], shape: Shape) -> NoFit | None:
    """None if the shape fits now, else why not. `all_nodes` counts every node, as if empty."""
    if fits(idle_nodes, shape):
        return None
    return NoFit(
        shape=shape,
        room=startable(idle_nodes, shape.worker_gpus),
        largest_block=largest_block(idle_nodes),
        never=not fits(all_nodes, shape),
    )
