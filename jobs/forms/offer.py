"""What the form offers to a person: pools of the team, and what goes with the chosen pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.utils import timezone

from images.models import Image
from jobs.facts import ChannelFacts, Facts, FlavorFacts, PoolFacts, SpecFacts
from jobs.reading import Access, access_read, channels_read, facts_read, pool_read, usual_read
from jobs.spec import AlertAsked, JobSpec
from pools.capacity import custom_startable, startable
from pools.models import Pool
from pools.reading import PoolNumbers
from storage.models import VolumeGrant
from teams.models import User


@dataclass(frozen=True, slots=True)
class SpecCard:
    """A Worker spec as it is shown, with how many such Workers could start now."""

    spec: SpecFacts
    flavor: FlavorFacts
    startable: int


class Offer:
    """What can be chosen once team and pool are; a team or pool that is not the user's counts as not
    chosen. A part is read when it is first looked at: an update of the numbers needs no lists."""

    def __init__(self, user: User, access: Access, team_id: int | None) -> None:
        team = access.team(team_id)
        self._user = user.pk
        self.access = access
        self.teams = access.teams
        self.team = team.id if team else None
        self.may_use_high = team is not None and team.may_use_high_priority

    @cached_property
    def pools(self) -> Sequence[PoolNumbers]:
        return _pools(self.team) if self.team else ()

    @cached_property
    def pool(self) -> PoolFacts | None:
        return pool_read(self.access, self.team) if self.team else None

    @cached_property
    def cards(self) -> Sequence[SpecCard]:
        return _cards(self.pool) if self.pool else ()

    @cached_property
    def images(self) -> Sequence[Image]:
        return _images(self.team, self.pool) if self.team and self.pool else ()

    @cached_property
    def volumes(self) -> Sequence[VolumeGrant]:
        return _volumes(self.team, self.pool) if self.team and self.pool else ()

    @cached_property
    def channels(self) -> Sequence[ChannelFacts]:
        """By name; there is none before there is a team."""
        found = channels_read(self._user, self.team).values() if self.team else ()
        return sorted(found, key=lambda channel: (channel.name, channel.id))

    @property
    def usual_alerts(self) -> Sequence[AlertAsked]:
        """Those that the person's new jobs begin with, as far as the team's may use them."""
        return usual_read(self._user, self.team) if self.team else ()

    @property
    def card_numbers(self) -> tuple[tuple[int, int], ...]:
        """Of each spec its id, and how many such Workers could start now."""
        return tuple((card.spec.id, card.startable) for card in self.cards)

    @property
    def flavors(self) -> Sequence[FlavorFacts]:
        return tuple(self.pool.flavors.values()) if self.pool else ()

    @property
    def total_gpus(self) -> int | None:
        """Of the chosen pool."""
        return sum(f.gpus_per_node * f.node_count for f in self.flavors) if self.pool else None

    @property
    def custom_startable(self) -> int:
        """The largest custom GPU count that could start on one of the flavors."""
        return max((custom_startable(f.idle_nodes) for f in self.flavors), default=0)


def offer_read(user: User, team_id: int | None, pool_id: int | None) -> Offer:
    """What `user` may choose."""
    return Offer(user, access_read(user.pk, pool_id), team_id)


def offer_start(user: User, team_id: int | None = None, pool_id: int | None = None) -> Offer:
    """What a new job starts from: the team asked for, else the first that may use the pool asked for, else
    the first one; and that pool, else the team's first."""
    access = access_read(user.pk, pool_id)
    mine = [team.id for team in access.teams]
    if team_id not in mine:
        granted = [team for team in mine if team in access.quotas] if team_id is None else []
        team_id = next(iter(granted or mine), None)
    pools = _pools(team_id) if team_id else ()
    ids = [numbers.pool.pk for numbers in pools]
    if pool_id not in ids:
        access = access_read(user.pk, next(iter(ids), None))
    offer = Offer(user, access, team_id)
    offer.pools = pools
    return offer


def request_facts(user: User, offer: Offer, spec: JobSpec) -> tuple[JobSpec, Facts]:
    """What the request is judged by; what the form has read already is not read again."""
    return facts_read(user, offer.access, offer.pool, spec)


def _pools(team_id: int) -> list[PoolNumbers]:
    pools = Pool.objects.filter(retired_at=None, grants__team=team_id).select_related("zone")
    today = timezone.localdate()
    return [PoolNumbers(pool, today) for pool in pools.prefetch_related("flavors").order_by("name")]


def _cards(pool: PoolFacts) -> list[SpecCard]:
    return [
        SpecCard(spec, flavor, startable(flavor.idle_nodes, spec.gpus))
        for spec in pool.specs.values()
        for flavor in [pool.flavors[spec.flavor]]
    ]


def _images(team_id: int, pool: PoolFacts) -> list[Image]:
    images = Image.objects.for_team(team_id).filter(zones=pool.zone).order_by("team_id", "reference")
    return [image for image in images if "job" in image.services and pool.runs(image.reference)]


def _volumes(team_id: int, pool: PoolFacts) -> list[VolumeGrant]:
    return list(
        VolumeGrant.objects.filter(team=team_id, volume__retired_at=None, volume__file_system__zone=pool.zone)
        .select_related("volume__file_system")
        .order_by("volume__file_system__name", "volume__name")
    )
