"""What the console knows when a request is judged: read once, then only values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pools.capacity import Shape
from pools.placement import NONE, MarkedNode


@dataclass(frozen=True, slots=True)
class TeamFacts:
    """A team that the person belongs to."""

    id: int
    name: str
    may_use_high_priority: bool


@dataclass(frozen=True, slots=True)
class FlavorFacts:
    id: int
    name: str
    gpu_model: str
    gpus_per_node: int
    network: str
    network_label: str
    idle_nodes: tuple[int, ...]
    node_count: int
    head_job: int | None = None
    head_since: datetime | None = None

    @property
    def rdma_capable(self) -> bool:
        return self.network in ("roce", "ib")


@dataclass(frozen=True, slots=True)
class SpecFacts:
    """A Worker spec; memory and shared memory in GiB."""

    id: int
    name: str
    flavor: int
    gpus: int
    cpus: int
    memory_gib: int
    shm_gib: int


@dataclass(frozen=True, slots=True)
class QuotaFacts:
    """GPUs that a team holds in the pool, and the most it may hold; None: no limit."""

    held: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class PoolFacts:
    id: int
    name: str
    zone: int
    zone_name: str
    public_data: str  # folder of the machine; empty: not offered
    strict: bool
    paused: bool
    max_overtake: timedelta
    flavors: Mapping[int, FlavorFacts]
    specs: Mapping[int, SpecFacts]
    quotas: Mapping[int, QuotaFacts]
    images: tuple[str, ...] = ()  # the only ones that its engine can run; none named: any

    def runs(self, reference: str) -> bool:
        """Whether it can run the image at all."""
        return not self.images or reference in self.images

    @property
    def only_flavor(self) -> FlavorFacts | None:
        """The flavor where there is no choice of one."""
        return next(iter(self.flavors.values())) if len(self.flavors) == 1 else None


@dataclass(frozen=True, slots=True)
class ImageFacts:
    id: int
    reference: str
    digest: str
    services: tuple[str, ...]
    in_zone: bool  # of the pool asked for


@dataclass(frozen=True, slots=True)
class VolumeFacts:
    """A volume that the team may mount; `source` is its folder on the machine."""

    id: int
    name: str
    zone: int
    source: str
    read_only: bool


@dataclass(frozen=True, slots=True)
class ChannelFacts:
    """An alert channel that the person may use for jobs of the team; `owner` of one of somebody else."""

    id: int
    name: str
    disabled: bool
    owner: str = ""


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """A job whose private values are to be used again: whether the request runs what that job runs, by whom
    each value was entered (name → user id), and the names of those that no key opens any more."""

    unchanged: bool
    owners: Mapping[str, int]
    unreadable: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class WaitingFacts:
    """How many jobs of one class wait, and the id of the oldest that may start now (None: none may).

    `later` of the jobs may not start yet: they have a pause before their restart. `avoided` are the ids of
    nodes on which they met a fault.
    """

    flavor: int
    priority: int
    team: int
    shape: Shape
    jobs: int
    first: int | None
    later: int = 0
    avoided: frozenset[int] = NONE


@dataclass(frozen=True, slots=True)
class NodesFacts:
    """The nodes of a flavor that waiting jobs avoid, by id, and the idle GPUs of those in service."""

    idle: Mapping[int, int]
    marked: Mapping[int, MarkedNode]


@dataclass(frozen=True, slots=True)
class Facts:
    """`pool`, `image` and `volumes` hold only what the team may use, and `sources` (by the ids of jobs) only
    what the sender may see. `channels` are read where the request has alerts, and then all of them.
    `nodes` has an entry for each flavor where waiting jobs avoid some: the counts alone would not tell what
    starts there. `retired` has by kind and id the names of what the team had."""

    now: datetime
    teams: frozenset[int]
    user: int = 0
    may_use_high_priority: bool = False
    pool: PoolFacts | None = None
    image: ImageFacts | None = None
    volumes: Mapping[int, VolumeFacts] = field(default_factory=dict)
    waiting: tuple[WaitingFacts, ...] = ()
    nodes: Mapping[int, NodesFacts] = field(default_factory=dict)
    sources: Mapping[str, SourceFacts] = field(default_factory=dict)
    channels: Mapping[int, ChannelFacts] = field(default_factory=dict)
    retired: Mapping[tuple[str, int], str] = field(default_factory=dict)

    def unknown(self, kind: str, asked: int) -> dict[str, str]:
        """What is known of a thing that is not to be had: under `retired` its name, if that is why."""
        name = self.retired.get((kind, asked))
        return {} if name is None else {"retired": name}
