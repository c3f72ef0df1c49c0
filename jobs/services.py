"""Creating and stopping jobs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from jobs.alerting import rules_store
from jobs.estimate import SHOWN_RANKS, Estimate, Promise, estimate, landed, read_ahead
from jobs.facts import Facts
from jobs.findings import Finding, Level, Reason
from jobs.hints import jobs_due, pool_changed
from jobs.lifecycle import Moving, event, move, queue_end, waiting_change
from jobs.models import Job, JobTag
from jobs.neighbours import with_alternatives
from jobs.private import private_store
from jobs.reading import landing_read, request_read
from jobs.rules import flavor_of, normal_path, spec_of
from jobs.spec import JobSpec
from jobs.states import LIVE, OriginKind, Priority, State
from pools.models import Pool
from pools.services import pool_lock
from teams.models import Membership, User
from teams.roles import Role

MINUTE = 60


@dataclass(frozen=True, slots=True)
class Origin:
    """The job that a new one is made from, and how."""

    job: int
    kind: OriginKind


class RequestRefused(Exception):
    """The request breaks rules; `findings` are the errors."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__(", ".join(f"{f.field}: {f.code}" for f in findings))
        self.findings = tuple(findings)


class PromiseBroken(Exception):
    """The request would do worse than what its sender was shown; `judged` tells how it would do now."""

    def __init__(self, judged: Estimate) -> None:
        super().__init__(f"{judged.reason}, {judged.queue}")
        self.judged = judged


class WouldWait(Exception):
    """The request is not to wait, and would; `judged` tells why."""

    def __init__(self, judged: Estimate) -> None:
        super().__init__(str(judged.reason))
        self.judged = judged


def job_estimate(*, user: User, spec: JobSpec, ranks: int = SHOWN_RANKS) -> Estimate:
    """What would happen to the request now, and what would start in its place; nothing is stored."""
    spec, facts = request_read(user, spec)
    judged = estimate(spec, facts, ranks)
    return with_alternatives(job_landed(judged, spec, facts), spec, facts)


def job_landed(judged: Estimate, spec: JobSpec, facts: Facts) -> Estimate:
    """The same; of what starts now, with the nodes on which it would land."""
    if not judged.starts_now or facts.pool is None:
        return judged
    return landed(judged, landing_read(spec, facts.pool, len(judged.workers)))


def job_create(
    *, user: User, spec: JobSpec, promise: Promise | None = None, origin: Origin | None = None
) -> Job:
    """Stores the request as a waiting job.

    RequestRefused if it breaks a rule, WouldWait if it cannot start at once and is not to be queued,
    PromiseBroken if it would do worse than `promise`; nothing is stored then. Judged under the pool's
    lock, so what was promised holds until the job is in the queue. Who calls it in a transaction calls
    `read_ahead` before that.
    """
    read_ahead(spec)  # nobody is to wait for the pool meanwhile, nor on SQLite for any write
    with transaction.atomic():
        if spec.pool is not None and Pool.objects.filter(pk=spec.pool).exists():
            pool_lock(pool_id=spec.pool)
        spec, facts = request_read(user, spec)
        judged = estimate(spec, facts)
        if judged.errors:
            raise RequestRefused(judged.errors)
        if spec.start_policy == "now" and not judged.starts_now:
            raise WouldWait(judged)
        if promise is not None and not promise.kept_by(judged):
            raise PromiseBroken(judged)
        job = _store(user, spec, facts, judged, origin)
        pool_changed(job.pool_id)
    return job


def _store(user: User, spec: JobSpec, facts: Facts, judged: Estimate, origin: Origin | None) -> Job:
    pool = facts.pool
    flavor = flavor_of(spec, pool) if pool else None
    if pool is None or flavor is None or spec.team is None or spec.image is None:
        raise RuntimeError("a valid request names its team, pool, flavor and image")
    worker_spec = spec_of(spec, pool)
    shape = spec.shape(worker_spec.gpus if worker_spec else None)
    if shape is None:
        raise RuntimeError("a valid request has a shape")
    now = timezone.now()
    job = Job.objects.create(
        team_id=spec.team,
        creator=user,
        pool_id=pool.id,
        flavor_id=flavor.id,
        spec_id=spec.spec,
        image_id=spec.image,
        name=spec.name,
        description=spec.description,
        framework=spec.framework,
        request=spec.public().as_json(),
        frozen=_frozen(spec, facts),
        findings=[f.as_json() for f in judged.findings if f.level != Level.ERROR],
        priority=Priority.of(spec.priority),
        worker_gpus=shape.worker_gpus,
        total_gpus=shape.total_gpus,
        eligible_at=now,
        created_at=now,
        origin_id=origin.job if origin else None,
        origin_kind=origin.kind if origin else "",
        **_running(spec, now),
    )
    JobTag.objects.bulk_create([JobTag(job=job, name=tag) for tag in dict.fromkeys(spec.tags)])
    private_store(job=job, user=user, spec=spec)
    rules_store(job=job, alerts=spec.alerts or ())
    event(job.pk, "created", actor=user)
    waiting_change(Moving.of(job).waiting_class, 1)
    return job


def _running(spec: JobSpec, now: datetime) -> dict[str, Any]:
    """What queue and engines look at again and again, in columns beside the request."""
    max_runtime, max_queue = (
        None if minutes is None else MINUTE * minutes
        for minutes in (spec.max_runtime_minutes, spec.max_queue_minutes)
    )
    return {
        "max_runtime_seconds": max_runtime,
        "max_queue_seconds": max_queue,
        "queue_until": queue_end(now, max_queue),
        "max_restarts": spec.max_restarts if spec.auto_restart else 0,
        "hang_seconds": spec.hang_timeout_seconds if spec.hang_detection else None,
        "hang_action": spec.hang_does if spec.hang_detection else "",
        "env_check": spec.env_check,
    }


def _frozen(spec: JobSpec, facts: Facts) -> dict[str, Any]:
    """What the job needs of everything it names, so that retiring it later changes nothing for the job."""
    pool, image = facts.pool, facts.image
    if pool is None or image is None:
        raise RuntimeError("a valid request names its pool and image")
    worker_spec, flavor = spec_of(spec, pool), flavor_of(spec, pool)
    return {
        "pool": {"id": pool.id, "name": pool.name, "zone": pool.zone_name},
        "flavor": {"id": flavor.id, "name": flavor.name, "gpu_model": flavor.gpu_model} if flavor else None,
        "spec": {
            "id": worker_spec.id,
            "name": worker_spec.name,
            "gpus": worker_spec.gpus,
            "cpus": worker_spec.cpus,
            "memory_gib": worker_spec.memory_gib,
            "shm_gib": worker_spec.shm_gib,
        }
        if worker_spec
        else None,
        "image": {"id": image.id, "reference": image.reference, "digest": image.digest},
        "mounts": [
            {
                "volume": m.volume,
                "name": facts.volumes[m.volume].name,
                "source": facts.volumes[m.volume].source,
                "mount_path": normal_path(m.mount_path),
                "read_only": facts.volumes[m.volume].read_only,
            }
            for m in spec.mounts
        ],
        "public_data": pool.public_data if spec.public_data else "",
    }


def may_stop(*, user: User, job: Job) -> bool:
    """The creator, while a member of the team, and the team's admins."""
    return job.pk in may_stop_of(user=user, jobs=[job])


def may_stop_of(*, user: User, jobs: Collection[Job]) -> set[int]:
    """The ids of those of the jobs of which the same holds, in one query."""
    memberships = Membership.objects.filter(user=user, team__in={job.team_id for job in jobs})
    roles = dict(memberships.values_list("team", "role"))
    return {
        job.pk
        for job in jobs
        if job.team_id in roles and (job.creator_id == user.pk or roles[job.team_id] == Role.ADMIN)
    }


def job_stop(*, job: Job, actor: User) -> Job:
    """Asks for the end of a job. A waiting one is stopped at once; one that has ended stays as it is."""
    stopped = move([job.pk], State.QUEUED, State.STOPPED, reason=Reason("stopped_by_user"), actor=actor)
    if not stopped:
        now = timezone.now()
        with transaction.atomic():
            asked = Job.objects.filter(pk=job.pk, state__in=LIVE, stop_requested_at=None).update(
                stop_requested_at=now, stop_requested_by=actor
            )
            if asked:
                event(job.pk, "stop_requested", actor=actor, at=now)
                jobs_due([job.pk])
    job.refresh_from_db()
    return job
