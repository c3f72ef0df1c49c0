"""The one door for `Job.state`.

A move locks the pools it touches, then the jobs by id, and in the same transaction writes the
state, the event, the waiting totals, and frees the holds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from jobs.findings import Reason
from jobs.hints import pool_changed
from jobs.models import Attempt, Job, JobEvent, WaitingTotal, Worker
from jobs.states import PLACED, TERMINAL, State, may_move
from pools.bulk import Same, among, bulk_insert
from pools.models import Pool
from pools.services import grant_change, holds_free, pool_lock
from teams.models import User


class Moving(NamedTuple):
    """What a move needs to know of a job."""

    pk: int
    pool: int
    flavor: int
    team: int
    priority: int
    worker_gpus: int
    total_gpus: int

    @property
    def waiting_class(self) -> tuple[int, int, int, int, int, int]:
        return self[1:]


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
        jobs = [
            Moving(*row)
            for row in Job.objects.select_for_update(no_key=True)
            .filter(among(job_ids), state=old)
            .order_by("pk")
            .values_list("pk", "pool", "flavor", "team", "priority", "worker_gpus", "total_gpus")
        ]
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
    pools = Job.objects.filter(among(job_ids)).order_by().values_list("pool", flat=True).distinct()
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
    Job.objects.filter(among(moved)).update(**values)


def _write_events(
    moved: Sequence[int], new: State, reason: Reason | None, actor: User | None, now: datetime
) -> None:
    bulk_insert(
        JobEvent,
        {
            "job": list(moved),
            "at": Same(now),
            "code": Same(str(new)),
            "data": Same({"reason": reason.as_json()} if reason else {}),
            "actor": Same(actor.pk if actor else None),
        },
    )


def _count_waiting(jobs: Sequence[Moving], old: State, new: State) -> None:
    if State.QUEUED not in (old, new):
        return
    step = 1 if new == State.QUEUED else -1
    for key, count in sorted(Counter(job.waiting_class for job in jobs).items()):
        waiting_change(key, step * count)


def waiting_change(key: tuple[int, int, int, int, int, int], jobs: int) -> None:
    """Adds to a waiting total, by pool, flavor, team, priority and shape. The pool is locked."""
    names = ("pool_id", "flavor_id", "team_id", "priority", "worker_gpus", "total_gpus")
    values = dict(zip(names, key, strict=True))
    totals = WaitingTotal.objects.filter(**values)
    if not totals.update(jobs=F("jobs") + jobs):
        WaitingTotal.objects.create(**values, jobs=jobs)
    elif jobs < 0:
        totals.filter(jobs=0).delete()


def _end_attempts(jobs: Sequence[Moving], now: datetime) -> None:
    """Frees what the jobs hold. Their pools are locked."""
    workers = Worker.objects.filter(attempt__job__in=[j.pk for j in jobs], attempt__ended_at=None)
    worker_ids = list(workers.values_list("pk", flat=True))
    workers.filter(ended_at=None).update(ended_at=now)
    holds_free(worker_ids=worker_ids)
    Attempt.objects.filter(job__in=[j.pk for j in jobs], ended_at=None).update(ended_at=now)
    freed: dict[int, Counter[int]] = defaultdict(Counter)
    for job in jobs:
        freed[job.pool][job.team] -= job.total_gpus
    for pool in Pool.objects.filter(pk__in=freed):
        grant_change(pool=pool, gpus_by_team=freed[pool.pk])
        pool_changed(pool.pk)
