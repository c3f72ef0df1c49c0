"""The database of the cycle benchmark, and how it is put back between rounds."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection, transaction
from django.utils import timezone

from jobs.counting import counts_mend
from jobs.models import Attempt, Job, JobEvent, Worker, new_key
from jobs.scheduling import queue_cycle
from jobs.services import job_create
from pools.bulk import bulk_insert
from pools.models import Hold, Pool
from pools.services import pool_lock
from teams.models import User
from tests.factories import make_pool, make_spec, make_team, make_user

SHAPES = ((1, 1), (2, 1), (4, 2), (8, 1), (8, 4))  # GPUs of a Worker, Workers


def fill(jobs: int, nodes: int, gpus: int) -> int:
    """Waiting jobs as `job_create` stores them: one by that service, the others as copies of its row."""
    team = make_team()
    user = make_user(team)
    pool = make_pool(team, nodes=nodes, gpus_per_node=gpus)
    _wait([job_create(user=user, spec=make_spec(pool))], jobs)
    return pool.pk


def fill_full(user: User, pool: Pool, nodes: int) -> None:
    """A running job of 8 GPUs on every node, started by the queue."""
    team = user.memberships.get().team_id
    _wait([job_create(user=user, spec=make_spec(pool, gpus=8, team=team))], nodes)
    if queue_cycle(pool.pk) != nodes:
        raise SystemExit("the cluster is not full")


def fill_behind(users: Sequence[User], pool: Pool, *, jobs: int) -> None:
    """So many waiting jobs of the users' teams, in every shape and with two priorities."""
    firsts = [
        job_create(user=user, spec=make_spec(pool, gpus=gpus, workers=workers, priority=priority, team=team))
        for user in users
        for team in user.memberships.values_list("team", flat=True)
        for gpus, workers in SHAPES
        for priority in ("normal", "low")
    ]
    _wait(firsts, jobs)


def _wait(firsts: Sequence[Job], jobs: int) -> None:
    """Adds copies until `jobs` wait, taking turns, so that jobs of all classes lie between each other."""
    copied = [f.name for f in Job._meta.concrete_fields if f.name not in ("id", "key")]
    turns = [firsts[n % len(firsts)] for n in range(jobs - len(firsts))]
    values = {name: [getattr(job, Job._meta.get_field(name).attname) for job in turns] for name in copied}
    bulk_insert(Job, {"key": [new_key() for _ in turns], **values})
    with transaction.atomic():
        pool_lock(pool_id=firsts[0].pool_id)
        counts_mend(pool_id=firsts[0].pool_id)


def reset(pool_id: int) -> None:
    """All jobs wait again, nothing is held; statistics are fresh and dead rows gone."""
    with transaction.atomic(), connection.cursor() as cursor:
        tables = ", ".join(m._meta.db_table for m in (Hold, Worker, Attempt, JobEvent))
        cursor.execute(f"TRUNCATE {tables} CASCADE")
        pool_lock(pool_id=pool_id)
        Job.objects.update(state="queued", attempt=0, deploy_step="", eligible_at=timezone.now())
        counts_mend(pool_id=pool_id)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
