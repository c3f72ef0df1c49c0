"""Arithmetic on idle GPUs: what could start, counted node by node.

`idle_nodes` is a sequence where entry k is the number of schedulable nodes of one flavor
that have k GPUs idle. Everything here costs the same for ten nodes and for ten thousand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

FULL_WORKER = 8  # a custom GPU count is split into Workers of this many GPUs


@dataclass(frozen=True, order=True)
class Shape:
    """GPUs of a request: full Workers of `worker_gpus`, and one smaller one if a remainder is left."""

    worker_gpus: int
    total_gpus: int

    def __post_init__(self) -> None:
        if self.worker_gpus < 1 or self.total_gpus < 1:
            raise ValueError("a shape has at least one GPU")

    @classmethod
    def of_spec(cls, gpus: int, workers: int) -> Shape:
        return cls(gpus, gpus * workers)

    @classmethod
    def of_custom(cls, gpus: int) -> Shape:
        """1 … 8 GPUs are one Worker; more are Workers of 8 and one of the rest."""
        return cls(min(gpus, FULL_WORKER), gpus)

    @property
    def full_workers(self) -> int:
        return self.total_gpus // self.worker_gpus

    @property
    def remainder(self) -> int:
        return self.total_gpus % self.worker_gpus

    @property
    def workers(self) -> int:
        return self.full_workers + (1 if self.remainder else 0)

    @property
    def equal(self) -> bool:
        """Whether every Worker has the same number of GPUs."""
        return self.remainder == 0

    @cached_property
    def gpus_by_rank(self) -> tuple[int, ...]:
        rest = (self.remainder,) if self.remainder else ()
        return (self.worker_gpus,) * self.full_workers + rest


def idle_nodes_of(idle: Iterable[int], gpus_per_node: int) -> list[int]:
    """Counts the idle GPUs of single nodes: entry k of the answer is how many nodes have k idle."""
    counts = [0] * (gpus_per_node + 1)
    for gpus in idle:
        counts[gpus] += 1
    return counts


def idle_gpus(idle_nodes: Sequence[int]) -> int:
    return sum(k * nodes for k, nodes in enumerate(idle_nodes))


def startable(idle_nodes: Sequence[int], gpus: int) -> int:
    """How many Workers of `gpus` GPUs could start now: Σ idle_nodes[k] · ⌊k / gpus⌋."""
    return sum(nodes * (k // gpus) for k, nodes in enumerate(idle_nodes))


def largest_remainder(idle_nodes: Sequence[int], gpus: int) -> int:
    """The most GPUs left on one node after Workers of `gpus` GPUs were put wherever they fit."""
    return max((k % gpus for k, nodes in enumerate(idle_nodes) if nodes), default=0)


def custom_startable(idle_nodes: Sequence[int]) -> int:
    """The largest custom GPU count that could start now."""
    full = startable(idle_nodes, FULL_WORKER)
    return FULL_WORKER * full + largest_remainder(idle_nodes, FULL_WORKER)


def largest_block(idle_nodes: Sequence[int]) -> int:
    """The most GPUs idle on one node."""
    return max((k for k, nodes in enumerate(idle_nodes) if nodes), default=0)


def fits(idle_nodes: Sequence[int], shape: Shape) -> bool:
    """Whether all Workers of the shape could be placed together."""
    wanted, remainder, gpus = shape.full_workers, shape.remainder, shape.worker_gpus
    room = 0
    for k in range(len(idle_nodes) - 1, gpus - 1, -1):  # emptiest nodes first: often they alone suffice
        room += idle_nodes[k] * (k // gpus)
        if room > wanted or (room == wanted and not remainder):
            return True
    return room == wanted and largest_remainder(idle_nodes, gpus) >= remainder


@lru_cache(maxsize=1024)
def fits_empty(nodes: int, gpus_per_node: int, shape: Shape) -> bool:
    """Whether so many nodes with nothing on them could hold the shape."""
    return fits(when_empty(nodes, gpus_per_node), shape)


def when_empty(nodes: int, gpus_per_node: int) -> list[int]:
    """The idle counts of so many nodes with nothing on them."""
    return [0] * gpus_per_node + [nodes]
