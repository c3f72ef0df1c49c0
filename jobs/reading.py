"""Reads from the database what a request is judged by, in a fixed number of queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from typing import Any

from django.db.models import (
    Case,
    Exists,
    F,
    FilteredRelation,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    When,
)
from django.db.models.functions import Coalesce
from django.utils import timezone

from alerts.models import Channel, Rule
from alerts.querysets import usable
from alerts.rules import Subject
from images.models import Image
from jobs.facts import (
    ChannelFacts,
    Facts,
    FlavorFacts,
    ImageFacts,
    PoolFacts,
    QuotaFacts,
    SpecFacts,
    TeamFacts,
    VolumeFacts,
)
from jobs.lifecycle import BACK
from jobs.models import JobEvent
from jobs.private import sources_read
from jobs.queued import nodes_read, waiting_asking, waiting_of
from jobs.retired import Retired, retired_read
from jobs.rules import flavor_of, spec_of
from jobs.rules.limits import MOST_ALERTS, MOST_MOUNTS
from jobs.spec import MOST_WORKERS, AlertAsked, JobSpec
from pools.compiled import Asking, Compiled, Rows, answers
from pools.models import ENGINE_IMAGES, Discipline, Flavor, Grant, Node, Pool, WorkerSpec
from pools.placement import IdleNode
from storage.models import VolumeGrant
from teams.models import Team, User


@dataclass(frozen=True, slots=True)
class Access:
    """The teams of a person, by name, and what each team may use and holds of the pool in question."""

    pool: int | None
    teams: tuple[TeamFacts, ...]
    quotas: Mapping[int, QuotaFacts]

    def team(self, asked: int | None) -> TeamFacts | None:
        """The team asked for, if it is one of the person's; the only one if none was asked for."""
        if asked is None:
            return self.teams[0] if len(self.teams) == 1 else None
        return next((team for team in self.teams if team.id == asked), None)


def _access(user_id: int, pool_id: int) -> QuerySet[Team, Any]:
    mine = FilteredRelation("memberships", condition=Q(memberships__user=user_id))
    given = FilteredRelation("grants", condition=Q(grants__pool=pool_id))
    return (
        Team.objects.annotate(mine=mine, given=given)
        .filter(Q(mine__isnull=False) | Q(given__isnull=False))
        .order_by("name", "pk")
        .values_list("pk", "name", "mine__may_use_high_priority", "given__held_gpus", "given__max_gpus")
    )


_ACCESS = Compiled(_access)


def access_read(user_id: int, pool_id: int | None) -> Access:
    teams, quotas = [], {}
    for team, name, may_use_high, held, most in _ACCESS.rows(user_id, pool_id or 0):
        if may_use_high is not None:
            teams.append(TeamFacts(team, name, may_use_high))
        if held is not None:
            quotas[team] = QuotaFacts(held, most)
    return Access(pool_id, tuple(teams), quotas)


def request_read(user: User, spec: JobSpec) -> tuple[JobSpec, Facts]:
    """The request with its defaults filled in, and what it is judged by."""
    access = access_read(user.pk, spec.pool)
    team = access.team(spec.team)
    pool = pool_read(access, team.id) if team else None
    return facts_read(user, access, pool, spec)


def facts_read(user: User, access: Access, pool: PoolFacts | None, spec: JobSpec) -> tuple[JobSpec, Facts]:
    """The same, where the access of the user and the pool were read already. `pool` is that of the request,
    if its team may use it."""
    team = access.team(spec.team)
    if team is not None and spec.team is None:
        spec = replace(spec, team=team.id)
    image, volumes, rows, reached, usual = answers(
        _image_asking(spec, team, pool),
        _volumes_asking(spec, team),
        waiting_asking(pool),
        _channels_asking(spec, user, team),
        _usual_asking(spec, user, team),
    )
    if spec.alerts is None and team is not None:
        spec = replace(spec, alerts=tuple(_usual_alert(row) for row in usual))
    waiting = tuple(waiting_of(row) for row in rows)
    mountable = {row[0]: VolumeFacts(*row) for row in volumes}
    retired: Retired = {}
    if team is not None and len(spec.mounts) <= MOST_MOUNTS:
        retired = retired_read(spec, team.id, pool, image=bool(image), volumes=mountable)
    return spec, Facts(
        now=timezone.now(),
        teams=frozenset(team.id for team in access.teams),
        user=user.pk,
        may_use_high_priority=team is not None and team.may_use_high_priority,
        pool=pool,
        image=_image_of(image),
        volumes=mountable,
        waiting=waiting,
        nodes=nodes_read(waiting),
        sources=sources_read(spec, user, pool.zone if pool else None),
        channels={row[0]: _channel(row, user.pk) for row in (*reached, *(row[2:] for row in usual))},
        retired=retired,
    )


POOL_FIELDS = ("pk", "name", "engine", "discipline", "paused", "max_overtake_minutes", "zone")
ZONE_FIELDS = ("zone__name", "zone__public_data")
FLAVOR_FIELDS = (
    *("pk", "name", "gpu_model", "gpus_per_node", "network", "network_label"),
    *("idle_nodes", "node_count", "head_job", "head_since"),
)
SPEC_FIELDS = ("pk", "name", "flavor", "gpus", "cpus", "memory_gib", "shm_gib")


def _pool(pool_id: int) -> QuerySet[Pool, Any]:
    """A row for each spec offered, and for each flavor without one."""
    offered = FilteredRelation("flavors__specs", condition=Q(flavors__specs__retired_at=None))
    return (
        Pool.objects.annotate(offered=offered)
        .filter(pk=pool_id, retired_at=None)
        .order_by("flavors__name", "flavors__pk", "offered__gpus", "offered__pk")
        .values_list(
            *POOL_FIELDS,
            *ZONE_FIELDS,
            *(f"flavors__{name}" for name in FLAVOR_FIELDS),
            *(f"offered__{name}" for name in SPEC_FIELDS),
        )
    )


_POOL = Compiled(_pool)
_POOL_END = len(POOL_FIELDS + ZONE_FIELDS)
_FLAVOR_END = _POOL_END + len(FLAVOR_FIELDS)


def pool_read(access: Access, team_id: int) -> PoolFacts | None:
    """The pool in question; None unless it is in use and granted to the team."""
    if access.pool is None or team_id not in access.quotas:
        return None
    rows = _POOL.rows(access.pool)
    if not rows:
        return None
    pk, name, engine, discipline, paused, max_overtake, zone, zone_name, public_data = rows[0][:_POOL_END]
    flavors = {f.id: f for f in (_flavor(row[_POOL_END:_FLAVOR_END]) for row in rows) if f.id is not None}
    specs = [s for s in (SpecFacts(*row[_FLAVOR_END:]) for row in rows) if s.id is not None]
    return PoolFacts(
        id=pk,
        name=name,
        zone=zone,
        zone_name=zone_name,
        public_data=public_data,
        strict=discipline == Discipline.STRICT_FIFO,
        paused=paused,
        max_overtake=timedelta(minutes=max_overtake),
        flavors=flavors,
        specs={s.id: s for s in sorted(specs, key=lambda s: (s.gpus, s.id))},
        quotas=access.quotas,
        images=ENGINE_IMAGES.get(engine, ()),
    )


def _flavor(row: Sequence[Any]) -> FlavorFacts:
    values = (*row[:6], tuple(row[6] or ()), *row[7:])
    return FlavorFacts(*values)


def pool_facts(pool: Pool, grants: Sequence[Grant]) -> PoolFacts:
    """The pool as it is, whoever may use it; `grants` are all of it."""
    flavors = Flavor.objects.filter(pool=pool).order_by("name", "pk")
    specs = WorkerSpec.objects.filter(flavor__pool=pool, retired_at=None).order_by("gpus", "pk")
    return pool_facts_of(pool, grants, flavors, specs)


def pool_facts_of(
    pool: Pool, grants: Iterable[Grant], flavors: Iterable[Flavor], specs: Iterable[WorkerSpec]
) -> PoolFacts:
    """The pool from rows that were read already, for one or for many pools at once."""
    return PoolFacts(
        id=pool.pk,
        name=pool.name,
        zone=pool.zone_id,
        zone_name=pool.zone.name,
        public_data=pool.zone.public_data,
        strict=pool.discipline == "strict_fifo",
        paused=pool.paused,
        max_overtake=timedelta(minutes=pool.max_overtake_minutes),
        flavors={f.pk: _flavor_of(f) for f in flavors},
        specs={s.pk: _spec(s) for s in specs},
        quotas={g.team_id: QuotaFacts(g.held_gpus, g.max_gpus) for g in grants},
        images=pool.images,
    )


def _flavor_of(flavor: Flavor) -> FlavorFacts:
    return FlavorFacts(
        id=flavor.pk,
        name=flavor.name,
        gpu_model=flavor.gpu_model,
        gpus_per_node=flavor.gpus_per_node,
        network=flavor.network,
        network_label=flavor.network_label,
        idle_nodes=tuple(flavor.idle_nodes),
        node_count=flavor.node_count,
        head_job=flavor.head_job,
        head_since=flavor.head_since,
    )


def _spec(spec: WorkerSpec) -> SpecFacts:
    return SpecFacts(spec.pk, spec.name, spec.flavor_id, spec.gpus, spec.cpus, spec.memory_gib, spec.shm_gib)


def image_in_zone(zone_id: int) -> Exists:
    """Of an image: whether it lies in the zone."""
    return Exists(Image.zones.through.objects.filter(image=OuterRef("pk"), zone=zone_id))


def _image(image_id: int, team_id: int, zone_id: int) -> QuerySet[Image, Any]:
    images = Image.objects.for_team(team_id).filter(pk=image_id).order_by()
    rows: QuerySet[Image, Any] = images.annotate(in_zone=image_in_zone(zone_id)).values_list(
        "pk", "reference", "digest", "services", "in_zone"
    )
    return rows


_IMAGE = Compiled(_image)


def _image_asking(spec: JobSpec, team: TeamFacts | None, pool: PoolFacts | None) -> Asking | None:
    if team is None or spec.image is None:
        return None
    return _IMAGE.asking(spec.image, team.id, pool.zone if pool else 0)


def _image_of(rows: Rows) -> ImageFacts | None:
    for pk, reference, digest, services, in_zone in rows:
        return ImageFacts(pk, reference, digest, tuple(services), bool(in_zone))
    return None


def _volumes(team_id: int, *volumes: int) -> QuerySet[VolumeGrant, Any]:
    grants = VolumeGrant.objects.filter(team=team_id, volume__in=volumes, volume__retired_at=None)
    return grants.values_list(
        "volume", "volume__name", "volume__file_system__zone", "volume__path", "read_only"
    )


_VOLUMES = Compiled(_volumes)


def _volumes_asking(spec: JobSpec, team: TeamFacts | None) -> Asking | None:
    """For the volumes that are to be mounted, those that the team may mount; none of more mounts than there
    may be, which are refused, as a text would be kept for every number of them."""
    if team is None or not 0 < len(spec.mounts) <= MOST_MOUNTS:
        return None
    return _VOLUMES.asking(team.id, *sorted({mount.volume for mount in spec.mounts}))


def _channels(user_id: int, team_id: int) -> QuerySet[Channel, Any]:
    rows: QuerySet[Channel, Any] = Channel.objects.filter(usable(user_id, team_id)).order_by()
    return rows.values_list("pk", "name", "disabled_at", "owner", "owner__username")


_CHANNELS = Compiled(_channels)


def _channels_asking(spec: JobSpec, user: User, team: TeamFacts | None) -> Asking | None:
    """Of a request that has alerts."""
    if team is None or not spec.alerts or len(spec.alerts) > MOST_ALERTS:
        return None
    return _CHANNELS.asking(user.pk, team.id)


def channels_read(user_id: int, team_id: int) -> dict[int, ChannelFacts]:
    """Those that the user may use for jobs of the team, which is one of theirs."""
    return {row[0]: _channel(row, user_id) for row in _CHANNELS.rows(user_id, team_id)}


def _usual(user_id: int, team_id: int) -> QuerySet[Rule, Any]:
    of_person = Rule.objects.filter(subject=Subject.PERSON.value, subject_id=user_id)
    rows: QuerySet[Rule, Any] = of_person.filter(usable(user_id, team_id, "channel__")).order_by("pk")
    of_channel = ("name", "disabled_at", "owner", "owner__username")
    return rows.values_list("events", "minutes", "channel", *(f"channel__{name}" for name in of_channel))


_USUAL = Compiled(_usual)


def _usual_asking(spec: JobSpec, user: User, team: TeamFacts | None) -> Asking | None:
    """Of a request that does not say: those of the person's that the team's jobs may use."""
    return _USUAL.asking(user.pk, team.id) if team is not None and spec.alerts is None else None


def usual_read(user_id: int, team_id: int) -> tuple[AlertAsked, ...]:
    """What the person's new jobs begin with in the team."""
    return tuple(_usual_alert(row) for row in _USUAL.rows(user_id, team_id))


def _usual_alert(row: tuple[Any, ...]) -> AlertAsked:
    events, minutes, channel, *_more = row
    return AlertAsked(tuple(events), channel, minutes)


def _channel(row: tuple[Any, ...], user_id: int) -> ChannelFacts:
    pk, name, disabled_at, owner, owner_name = row
    return ChannelFacts(pk, name, disabled_at is not None, "" if owner == user_id else owner_name)


def landing_read(spec: JobSpec, pool: PoolFacts, ranks: int) -> tuple[IdleNode, ...]:
    """The nodes among which best fit chooses for the first `ranks` Workers: about as many rows as those,
    and a few for a smaller last Worker."""
    flavor, worker_spec = flavor_of(spec, pool), spec_of(spec, pool)
    shape = spec.shape(worker_spec.gpus if worker_spec else None)
    if flavor is None or shape is None or ranks < 1:
        return ()
    most = _enough(min(shape.full_workers, ranks))
    if shape.remainder and ranks >= shape.workers:
        rows = _landing_with_rest(most).rows(flavor.id, shape.worker_gpus, shape.remainder)
    else:
        rows = _landing(most).rows(flavor.id, shape.worker_gpus)
    return tuple(IdleNode(*row) for row in rows)


def _enough(nodes: int) -> int:
    """A round number of rows, so that few texts of the query are made."""
    return next(size for size in (1, 8, 64, MOST_WORKERS) if size >= nodes)


@cache
def _landing(most: int) -> Compiled:
    return Compiled(
        lambda flavor, gpus: Node.objects.landing(flavor, gpus, most).values_list("name", "pk", "idle")
    )


@cache
def _landing_with_rest(most: int) -> Compiled:
    def build(flavor: int, gpus: int, rest: int) -> QuerySet[Node, Any]:
        full = Node.objects.landing(flavor, gpus, most).values("pk")
        last = Node.objects.landing(flavor, rest, most + 1).values("pk")
        return Node.objects.filter(Q(pk__in=full) | Q(pk__in=last)).values_list("name", "pk", "idle")

    return Compiled(build)


def waiting_since() -> Case:
    """Since when a job waits: since it last entered the queue. To be annotated to jobs under this name.

    The history is asked only for jobs that have left the queue before: most never did.
    """
    back = JobEvent.objects.filter(job=OuterRef("pk"), code__in=BACK).order_by("-pk").values("at")[:1]
    never_left = When(attempt=0, then=F("created_at"))
    return Case(never_left, default=Coalesce(Subquery(back), F("created_at")))
