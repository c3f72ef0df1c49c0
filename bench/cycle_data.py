"""The database of the cycle benchmark, and how it is put back between rounds."""

from __future__ import annotations

from django.db import connection, transaction
from django.utils import timezone

from jobs.counting import counts_mend
from jobs.models import Attempt, Job, JobEvent, WaitingTotal, Worker, new_key
from jobs.services import job_create
from pools.bulk import Same, bulk_insert
from pools.models import Hold
from pools.services import pool_lock
from tests.factories import make_pool, make_spec, make_team, make_user


def fill(jobs: int, nodes: int, gpus: int) -> int:
    """Waiting jobs as `job_create` stores them: one by that service, the others as copies of its row."""
    team = make_team()
    user = make_user(team)
    pool = make_pool(team, nodes=nodes, gpus_per_node=gpus)
    first = job_create(user=user, spec=make_spec(pool))
    copied = [f.name for f in Job._meta.concrete_fields if f.name not in ("id", "key")]
    values = {name: Same(getattr(first, Job._meta.get_field(name).attname)) for name in copied}
    bulk_insert(Job, {"key": [new_key() for _ in range(jobs - 1)], **values})
    WaitingTotal.objects.update(jobs=jobs)
    return pool.pk


def reset(pool_id: int) -> None:
    """All jobs wait again, nothing is held; statistics are fresh and dead rows gone."""
    with transaction.atomic(), connection.cursor() as cursor:
        tables = ", ".join(m._meta.db_table for m in (Hold, Worker, Attempt, JobEvent))
        cursor.execute(f"TRUNCATE {tables}")
        pool_lock(pool_id=pool_id)
        Job.objects.update(state="queued", attempt=0, deploy_step="", eligible_at=timezone.now())
        counts_mend(pool_id=pool_id)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
