"""What the form offers to a person: pools of the team, and what goes with the chosen pool."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from images.models import Image
from jobs.facts import FlavorFacts, PoolFacts, SpecFacts
from jobs.reading import pool_read
from pools.capacity import custom_startable, idle_gpus, startable
from pools.models import Flavor, Pool
from storage.models import VolumeGrant
from teams.models import Membership, Team, User


@dataclass(frozen=True, slots=True)
class PoolChoice:
    id: int
    name: str
    zone: str
    idle: int
    total: int
    paused: bool


@dataclass(frozen=True, slots=True)
class SpecCard:
    """A Worker spec as it is shown, with how many such Workers could start now."""

    spec: SpecFacts
    flavor: FlavorFacts
    startable: int


@dataclass(frozen=True, slots=True)
class Offer:
    """Everything that can be chosen once team and pool are."""

    teams: Sequence[Team] = ()
    team: int | None = None
    may_use_high_priority: bool = False
    pools: Sequence[PoolChoice] = ()
    pool: PoolFacts | None = None
    cards: Sequence[SpecCard] = ()
    images: Sequence[Image] = ()
    volumes: Sequence[VolumeGrant] = field(default_factory=tuple)

    @property
    def flavors(self) -> Sequence[FlavorFacts]:
        return tuple(self.pool.flavors.values()) if self.pool else ()

    @property
    def rdma_possible(self) -> bool:
        """Whether any node of the pool has a training network for RDMA."""
        return any(flavor.rdma_capable for flavor in self.flavors)

    @property
    def custom_startable(self) -> int:
        """The largest custom GPU count that could start on one of the flavors."""
        return max((custom_startable(f.idle_nodes) for f in self.flavors), default=0)


def offer_read(user: User, team_id: int | None, pool_id: int | None) -> Offer:
    """What `user` may choose; a team or pool that is not theirs counts as not chosen."""
    memberships = list(Membership.objects.filter(user=user).select_related("team").order_by("team__name"))
    mine = {m.team_id: m for m in memberships}
    if team_id is None and len(memberships) == 1:
        team_id = memberships[0].team_id
    if team_id not in mine:
        return Offer(teams=[m.team for m in memberships])
    pools = _pools(team_id)
    facts = pool_read(pool_id, team_id) if pool_id in {p.id for p in pools} and pool_id else None
    return Offer(
        teams=[m.team for m in memberships],
        team=team_id,
        may_use_high_priority=mine[team_id].may_use_high_priority,
        pools=pools,
        pool=facts,
        cards=_cards(facts) if facts else (),
        images=_images(team_id, facts) if facts else (),
        volumes=_volumes(team_id, facts) if facts else (),
    )


def _pools(team_id: int) -> list[PoolChoice]:
    pools = Pool.objects.filter(retired_at=None, grants__team=team_id).select_related("zone").order_by("name")
    flavors: dict[int, list[Flavor]] = {}
    for flavor in Flavor.objects.filter(pool__in=pools):
        flavors.setdefault(flavor.pool_id, []).append(flavor)
    return [_pool_choice(pool, flavors.get(pool.pk, [])) for pool in pools]


def _pool_choice(pool: Pool, flavors: Iterable[Flavor]) -> PoolChoice:
    idle = total = 0
    for flavor in flavors:
        idle += idle_gpus(flavor.idle_nodes)
        total += flavor.gpus_per_node * flavor.node_count
    return PoolChoice(pool.pk, pool.name, pool.zone.name, idle, total, pool.paused)


def _cards(pool: PoolFacts) -> list[SpecCard]:
    return [
        SpecCard(spec, flavor, startable(flavor.idle_nodes, spec.gpus))
        for spec in pool.specs.values()
        for flavor in [pool.flavors[spec.flavor]]
    ]


def _images(team_id: int, pool: PoolFacts) -> list[Image]:
    images = Image.objects.for_team(team_id).filter(zones=pool.zone).order_by("team_id", "reference")
    return [image for image in images if "job" in image.services]


def _volumes(team_id: int, pool: PoolFacts) -> list[VolumeGrant]:
    return list(
        VolumeGrant.objects.filter(team=team_id, volume__retired_at=None, volume__file_system__zone=pool.zone)
        .select_related("volume__file_system")
        .order_by("volume__file_system__name", "volume__name")
    )
