"""The one door for `Job.state`.

A move locks the pools it touches, then the jobs by id, and in the same transaction writes the
state, the event, the waiting totals, and frees the holds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from jobs.findings import Reason
from jobs.hints import pool_changed
from jobs.models import Attempt, Job, JobEvent, WaitingTotal, Worker
from jobs.states import PLACED, TERMINAL, State, may_move
from pools.bulk import bulk_insert
from pools.models import Pool
from pools.services import grant_change, holds_free, pool_lock
from teams.models import User


def move(
    job_ids: Sequence[int],
    old: State,
    new: State,
    *,
    reason: Reason | None = None,
    actor: User | None = None,
) -> list[int]:
    """Moves those of the jobs that are in `old`, and answers their ids in order. One job is a list of one.

    ValueError for a move that the lifecycle does not know.
    """
    if not may_move(old, new):
        raise ValueError(f"no move from {old} to {new}")
    now = timezone.now()
    with transaction.atomic():
        touches_pool = old == State.QUEUED or new == State.QUEUED or new in TERMINAL
        if touches_pool:
            _lock_pools(job_ids)
        jobs = list(
            Job.objects.select_for_update(no_key=True)
            .filter(pk__in=job_ids, state=old)
            .order_by("pk")
            .only("pk", "pool_id", "flavor_id", "team_id", "priority", "worker_gpus", "total_gpus", "attempt")
        )
        moved = [job.pk for job in jobs]
        if moved:
            _write(moved, new, reason, now)
            _write_events(moved, new, reason, actor, now)
            _count_waiting(jobs, old, new)
            if old in PLACED and (new in TERMINAL or new == State.QUEUED):
                _end_attempts(jobs, now)
    return moved


def event(job_id: int, code: str, *, actor: User | None = None, **data: Any) -> None:
    """Adds to the history of a job something that is no change of state."""
    JobEvent.objects.create(job_id=job_id, at=timezone.now(), code=code, data=data, actor=actor)


def _lock_pools(job_ids: Sequence[int]) -> None:
    pools = Job.objects.filter(pk__in=job_ids).order_by().values_list("pool", flat=True).distinct()
    for pool_id in sorted(set(pools)):
        pool_lock(pool_id=pool_id)


def _write(moved: Sequence[int], new: State, reason: Reason | None, now: datetime) -> None:
    values: dict[str, Any] = {"state": new, "reason": reason.as_json() if reason else None, "deploy_step": ""}
    if new == State.DEPLOYING:
        values |= {"deploy_step": "allocate", "attempt": F("attempt") + 1}
    elif new == State.RUNNING:
        values["started_at"] = now
    elif new in TERMINAL:
        values["ended_at"] = now
    Job.objects.filter(pk__in=moved).update(**values)


def _write_events(
    moved: Sequence[int], new: State, reason: Reason | None, actor: User | None, now: datetime
) -> None:
    bulk_insert(
        JobEvent,
        {
            "job": list(moved),
            "at": now,
            "code": str(new),
            "data": {"reason": reason.as_json()} if reason else {},
            "actor": actor.pk if actor else None,
        },
    )


def _count_waiting(jobs: Sequence[Job], old: State, new: State) -> None:
    if State.QUEUED not in (old, new):
        return
    step = 1 if new == State.QUEUED else -1
    classes = Counter(
        (j.pool_id, j.flavor_id, j.team_id, j.priority, j.worker_gpus, j.total_gpus) for j in jobs
    )
    for key, count in sorted(classes.items()):
        waiting_change(key, step * count)


def waiting_change(key: tuple[int, int, int, int, int, int], jobs: int) -> None:
    """Adds to a waiting total, by pool, flavor, team, priority and shape. The pool is locked."""
    names = ("pool_id", "flavor_id", "team_id", "priority", "worker_gpus", "total_gpus")
    values = dict(zip(names, key, strict=True))
    if not WaitingTotal.objects.filter(**values).update(jobs=F("jobs") + jobs):
        WaitingTotal.objects.create(**values, jobs=jobs)


def _end_attempts(jobs: Sequence[Job], now: datetime) -> None:
    """Frees what the jobs hold. Their pools are locked."""
    workers = Worker.objects.filter(attempt__job__in=[j.pk for j in jobs], attempt__ended_at=None)
    worker_ids = list(workers.values_list("pk", flat=True))
    workers.filter(ended_at=None).update(ended_at=now)
    holds_free(worker_ids=worker_ids)
    Attempt.objects.filter(job__in=[j.pk for j in jobs], ended_at=None).update(ended_at=now)
    freed: dict[int, Counter[int]] = defaultdict(Counter)
    for job in jobs:
        freed[job.pool_id][job.team_id] -= job.total_gpus
    for pool in Pool.objects.filter(pk__in=freed):
        grant_change(pool=pool, gpus_by_team=freed[pool.pk])
        pool_changed(pool.pk)
