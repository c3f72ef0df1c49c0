"""Who starts next. A pure decision on values; its cost grows with what starts, not with who waits.

Waiting jobs come in classes: same flavor, priority, team, shape, and nodes to avoid. What holds for the
first job of a class (does not fit, over the quota) holds for all behind it, so a class is looked at
once a cycle, however many jobs wait in it.

A job avoids the nodes on which it met a fault, as long as the others of its flavor, all in service and
empty, could hold it. Where they never could, it takes what there is: else it would wait for ever.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from jobs.findings import Reason
from pools.capacity import Shape, fits_empty, when_empty
from pools.placement import NONE, MarkedNode, Room, why_not

MOST_AVOIDED = 20  # nodes a job; of more some earlier ones are forgotten


def avoided_ids(text: str) -> frozenset[int]:
    """The node ids of a kept text."""
    return frozenset(int(node) for node in text.split(",")) if text else NONE


def avoided_text(nodes: Collection[int]) -> str:
    """Nodes to avoid as they are kept: one text for one set, so that classes compare."""
    return ",".join(str(node) for node in sorted(nodes))


@dataclass(frozen=True, slots=True)
class WaitingClass:
    """Jobs that the queue cannot tell apart but by their age. `jobs` are ids, oldest first.

    `cut` tells that more jobs wait in the class than ids were given.
    """

    flavor: int
    priority: int
    team: int
    shape: Shape
    jobs: Sequence[int]
    cut: bool = False
    avoided: frozenset[int] = NONE


@dataclass(frozen=True, slots=True)
class FlavorState:
    """A flavor in a cycle, which takes Workers from `room`.

    `schedulable` counts nodes in service, `nodes` all that are not retired. `marked` are those that waiting
    jobs avoid, by id: a node that is not among them is avoided by nobody.
    """

    room: Room
    gpus_per_node: int
    schedulable: int
    nodes: int
    head_job: int | None = None
    head_since: datetime | None = None
    marked: Mapping[int, MarkedNode] = field(default_factory=dict)

    def apart(self, waiting: WaitingClass) -> frozenset[int]:
        """The nodes that placement leaves out for the class."""
        if not waiting.avoided:
            return NONE
        apart = waiting.avoided & self.marked.keys()
        others = self.nodes - len(apart)
        return apart if fits_empty(others, self.gpus_per_node, waiting.shape) else NONE

    def in_service(self, apart: frozenset[int]) -> int:
        """How many of the other nodes are schedulable."""
        return self.schedulable - sum(self.marked[node].schedulable for node in apart)


@dataclass(frozen=True, slots=True)
class Quota:
    held: int
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class PoolState:
    """All that a cycle looks at. A team without an entry in `quotas` may not use the pool (any more)."""

    now: datetime
    flavors: Mapping[int, FlavorState]
    quotas: Mapping[int, Quota]
    strict: bool = False
    paused: bool = False
    max_overtake: timedelta = timedelta(minutes=60)


@dataclass(frozen=True, slots=True)
class Start:
    job: int
    flavor: int
    shape: Shape
    nodes: tuple[int, ...]  # node id by rank; empty where the room has no names


@dataclass(frozen=True, slots=True)
class Head:
    """The first job of a flavor that could run there but has to wait."""

    job: int
    since: datetime
    blocks: bool


@dataclass(slots=True)
class Decision:
    """`reasons` tells what stood in the way of the first job of a class; `more` that another cycle is due."""

    starts: list[Start] = field(default_factory=list)
    heads: dict[int, Head] = field(default_factory=dict)
    reasons: dict[int, Reason] = field(default_factory=dict)
    more: bool = False


def decide(state: PoolState, classes: Sequence[WaitingClass], most: int) -> Decision:
    """At most `most` starts, in the order of priority, then age."""
    decision = Decision()
    held = {team: quota.held for team, quota in state.quotas.items()}
    queue = [(c.priority, c.jobs[0], index, 0) for index, c in enumerate(classes) if c.jobs]
    heapq.heapify(queue)
    while queue:
        priority, job, index, place = heapq.heappop(queue)
        waiting = classes[index]
        reason = _obstacle(state, decision.heads, waiting, job, held.get(waiting.team, 0))
        if reason is not None:
            decision.reasons[job] = reason
            continue
        if len(decision.starts) >= most:
            decision.more = True
            break
        held[waiting.team] = held.get(waiting.team, 0) + waiting.shape.total_gpus
        flavor = state.flavors[waiting.flavor]
        nodes = flavor.room.take(waiting.shape, flavor.apart(waiting))
        decision.starts.append(Start(job, waiting.flavor, waiting.shape, nodes))
        if place + 1 < len(waiting.jobs):
            heapq.heappush(queue, (priority, waiting.jobs[place + 1], index, place + 1))
        elif waiting.cut:
            decision.more = True
    return decision


def _obstacle(
    state: PoolState, heads: dict[int, Head], waiting: WaitingClass, job: int, held: int
) -> Reason | None:
    """Why the job cannot start now; notes it as its flavor's head if it is the first that has to wait."""
    if state.paused:
        return Reason("pool_paused")
    flavor = state.flavors[waiting.flavor]
    head = heads.get(waiting.flavor)
    if head is not None and head.blocks:
        return Reason("behind_head", {"head": head.job})
    quota = state.quotas.get(waiting.team)
    gpus = waiting.shape.total_gpus
    if quota is None:
        return Reason("not_granted")
    if quota.limit is not None and held + gpus > quota.limit:
        return Reason("quota", {"held": held, "limit": quota.limit, "wanted": gpus})
    apart = flavor.apart(waiting)
    if not fits_empty(flavor.in_service(apart), flavor.gpus_per_node, waiting.shape):
        return no_room(waiting.shape, flavor, apart)
    if flavor.room.fits(waiting.shape, apart):
        return None
    if head is None:
        heads[waiting.flavor] = _head(state, flavor, job)
    return no_room(waiting.shape, flavor, apart)


def _head(state: PoolState, flavor: FlavorState, job: int) -> Head:
    since = flavor.head_since if flavor.head_job == job and flavor.head_since else state.now
    return Head(job, since, blocks=state.strict or state.now - since > state.max_overtake)


def no_room(shape: Shape, flavor: FlavorState, apart: frozenset[int] = NONE) -> Reason:
    """Tells *cannot now* (`capacity`) from *not on the nodes in service* and *can never* here, and from
    *only on nodes that it avoids* (`avoided`)."""
    if apart and flavor.room.fits(shape):
        names = sorted(flavor.marked[node].name for node in apart if flavor.marked[node].schedulable)
        return Reason("avoided", {"nodes": names})
    nodes = when_empty(flavor.nodes, flavor.gpus_per_node)
    missing = why_not(flavor.room.idle_without(apart), nodes, shape)
    if missing is None:
        raise ValueError("the shape does fit")
    in_service = fits_empty(flavor.in_service(apart), flavor.gpus_per_node, shape)
    code = "never_fits" if missing.never else "capacity" if in_service else "out_of_service"
    return Reason(
        code,
        {
            "worker_gpus": shape.worker_gpus,
            "workers": shape.workers,
            "total_gpus": shape.total_gpus,
            "room": missing.room,
            "largest_block": missing.largest_block,
        },
    )
