"""Reads from the database what a request is judged by, in a fixed number of queries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from django.db.models import (
    BooleanField,
    Case,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    When,
)
from django.db.models.functions import Coalesce
from django.utils import timezone

from images.models import Image
from jobs.facts import (
    Facts,
    FlavorFacts,
    ImageFacts,
    PoolFacts,
    QuotaFacts,
    SourceFacts,
    SpecFacts,
    VolumeFacts,
    WaitingFacts,
)
from jobs.models import Job, JobEvent, PrivateValue, WaitingTotal
from jobs.rules import flavor_of, spec_of
from jobs.spec import JobSpec, is_job_key
from jobs.states import State
from pools.models import Flavor, Grant, Node, Pool, WorkerSpec
from pools.placement import IdleNode
from storage.models import VolumeGrant
from teams.models import Membership, User


def request_read(user: User, spec: JobSpec, ranks: int) -> tuple[JobSpec, Facts]:
    """The request with its defaults filled in, and what it is judged by.

    `ranks` is how many Workers will be shown with the node they would land on.
    """
    memberships = {m.team_id: m for m in Membership.objects.filter(user=user)}
    if spec.team is None and len(memberships) == 1:
        spec = replace(spec, team=next(iter(memberships)))
    mine = memberships.get(spec.team) if spec.team is not None else None
    pool = pool_read(spec.pool, mine.team_id) if mine and spec.pool is not None else None
    facts = Facts(
        now=timezone.now(),
        teams=frozenset(memberships),
        user=user.pk,
        may_use_high_priority=mine is not None and mine.may_use_high_priority,
        pool=pool,
        image=image_read(spec.image, mine.team_id, pool) if mine and spec.image is not None else None,
        volumes=volumes_read(spec) if mine and spec.mounts else {},
        waiting=waiting_read(pool.id) if pool else (),
        sources=sources_read(spec, user),
        landing=landing_read(spec, pool, ranks) if pool else (),
    )
    return spec, facts


def pool_read(pool_id: int, team_id: int) -> PoolFacts | None:
    """None unless the pool is in use and granted to the team."""
    grants = Grant.objects.filter(pool=pool_id, pool__retired_at=None).select_related("pool__zone")
    rows = list(grants.order_by("pk"))
    if all(team_id != grant.team_id for grant in rows):
        return None
    return pool_facts(rows[0].pool, rows)


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
        flavors={f.pk: _flavor(f) for f in flavors},
        specs={s.pk: _spec(s) for s in specs},
        quotas={g.team_id: QuotaFacts(g.held_gpus, g.max_gpus) for g in grants},
    )


def _flavor(flavor: Flavor) -> FlavorFacts:
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


def image_read(image_id: int, team_id: int, pool: PoolFacts | None) -> ImageFacts | None:
    images = Image.objects.for_team(team_id).annotate(in_zone=image_in_zone(pool.zone if pool else 0))
    image = images.filter(pk=image_id).first()
    if image is None:
        return None
    return ImageFacts(image.pk, image.reference, image.digest, tuple(image.services), image.in_zone)


def volumes_read(spec: JobSpec) -> dict[int, VolumeFacts]:
    grants = VolumeGrant.objects.filter(
        team=spec.team, volume__in=[m.volume for m in spec.mounts], volume__retired_at=None
    ).select_related("volume__file_system")
    return {
        g.volume_id: VolumeFacts(
            g.volume_id, g.volume.name, g.volume.file_system.zone_id, g.volume.path, g.read_only
        )
        for g in grants
    }


def sources_read(spec: JobSpec, user: User) -> dict[str, SourceFacts]:
    """The jobs from which private values are to be taken; asks nothing where none are."""
    keys = {v.from_job for v in spec.env if v.from_job and is_job_key(v.from_job)}
    if not keys:
        return {}
    same = Q(job__team=spec.team, job__image=spec.image, job__request__command=spec.command)
    values = PrivateValue.objects.filter(job__in=Job.objects.for_user(user), job__key__in=keys)
    rows = values.annotate(same=ExpressionWrapper(same, BooleanField()))
    unchanged: dict[str, bool] = {}
    owners: dict[str, dict[str, int]] = {}
    for key, unchanged[key], name, owner in rows.values_list("job__key", "same", "name", "owner"):
        owners.setdefault(key, {})[name] = owner
    return {key: SourceFacts(same, owners[key]) for key, same in unchanged.items()}


CLASS_FIELDS = ("flavor", "priority", "team", "worker_gpus", "total_gpus")


def eligible_jobs(**waiting_class: object) -> QuerySet[Job]:
    """The jobs of a class that may start now, oldest first. The class is given by CLASS_FIELDS."""
    return Job.objects.filter(
        state=State.QUEUED, stop_requested_at=None, eligible_at__lte=timezone.now(), **waiting_class
    ).order_by("pk")


def waiting_read(pool_id: int) -> tuple[WaitingFacts, ...]:
    """The classes in which jobs wait, each with its oldest job that may start."""
    return tuple(waiting_by_pool([pool_id])[pool_id])


def waiting_by_pool(pool_ids: Collection[int]) -> dict[int, list[WaitingFacts]]:
    """As `waiting_read`, for several pools in one query; a pool where nobody waits has an empty list."""
    first = eligible_jobs(**{name: OuterRef(name) for name in CLASS_FIELDS})
    totals = WaitingTotal.objects.filter(pool__in=pool_ids, jobs__gt=0)
    found: dict[int, list[WaitingFacts]] = {pool_id: [] for pool_id in pool_ids}
    for t in totals.annotate(first=Subquery(first.values("pk")[:1])):
        found[t.pool_id].append(WaitingFacts(t.flavor_id, t.priority, t.team_id, t.shape, t.jobs, t.first))
    return found


def landing_read(spec: JobSpec, pool: PoolFacts, ranks: int) -> tuple[IdleNode, ...]:
    """The nodes among which best fit chooses for the first `ranks` Workers: as many rows as those at most,
    and one for a smaller last Worker."""
    flavor, worker_spec = flavor_of(spec, pool), spec_of(spec, pool)
    shape = spec.shape(worker_spec.gpus if worker_spec else None)
    if flavor is None or shape is None or ranks < 1:
        return ()
    found = [*_landing(flavor.id, shape.worker_gpus, min(shape.full_workers, ranks))]
    if shape.remainder and ranks >= shape.workers:
        found += _landing(flavor.id, shape.remainder, shape.workers)
    return tuple({node.id: node for node in found}.values())


def _landing(flavor_id: int, gpus: int, most: int) -> Sequence[IdleNode]:
    rows = Node.objects.landing(flavor_id, gpus, most).values_list("name", "pk", "idle")
    return [IdleNode(*row) for row in rows]


def waiting_since() -> Case:
    """Since when a job waits: since it last entered the queue. To be annotated to jobs under this name.

    The history is asked only for jobs that have left the queue before: most never did.
    """
    back = JobEvent.objects.filter(job=OuterRef("pk"), code=State.QUEUED).order_by("-pk").values("at")[:1]
    never_left = When(attempt=0, then=F("created_at"))
    return Case(never_left, default=Coalesce(Subquery(back), F("created_at")))
