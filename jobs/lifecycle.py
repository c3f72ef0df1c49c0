"""The one door for `Job.state`.

A move locks the pools it touches, then the jobs by id, and in the same transaction writes the
state, the event, the waiting totals, and frees the holds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import F, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from alerts.rules import JOB_EVENTS
from jobs.findings import Reason
from jobs.hints import pool_changed
from jobs.models import Attempt, Job, JobEvent, WaitingTotal, Worker
from jobs.queue import MOST_AVOIDED, avoided_ids, avoided_text
from jobs.states import PLACED, TERMINAL, Priority, State, may_move
from pools.bulk import Same, among, bulk_insert, bulk_update
from pools.models import Pool
from pools.services import grant_change, holds_free, pool_lock
from teams.models import User

RESTARTED = "restarted"
REQUEUED = "requeued"
BACK = (State.QUEUED, RESTARTED, REQUEUED)  # the events of a job that is back in the queue
WaitingKey = tuple[int, int, int, int, int, int, str]


class Moving(NamedTuple):
    """What a move needs to know of a job."""

    pk: int
    pool: int
    flavor: int
    team: int
    priority: int
    worker_gpus: int
    total_gpus: int
    avoided: str
    max_queue_seconds: int | None

    @classmethod
    def of(cls, job: Job) -> Moving:
        shape, ids = (job.worker_gpus, job.total_gpus), (job.pk, job.pool_id, job.flavor_id, job.team_id)
        return cls(*ids, job.priority, *shape, job.avoided, job.max_queue_seconds)

    @property
    def waiting_class(self) -> WaitingKey:
        return self[1:8]


class Change(NamedTuple):
    """What becomes of jobs, and the event that tells of it. `pause` is how long they may not start."""

    old: State
    new: State
    code: str
    data: Mapping[str, Any]
    reason: Reason | None = None
    actor: User | None = None
    pause: timedelta = timedelta()


def move(
    job_ids: Sequence[int],
    old: State,
    new: State,
    *,
    reason: Reason | None = None,
    actor: User | None = None,
    **told: Any,
) -> list[int]:
    """Moves those of the jobs that are in `old`, and answers their ids in order. One job is a list of one.

    The event tells the reason and what is `told` besides. ValueError for a move that the lifecycle does
    not know.
    """
    if not may_move(old, new):
        raise ValueError(f"no move from {old} to {new}")
    data = {**told, **({"reason": reason.as_json()} if reason else {})}
    return _change(job_ids, Change(old, new, str(new), data, reason, actor))


def restart(job_id: int, old: State, *, reason: Reason, pause: timedelta) -> bool:
    """Sends a placed job back to its old place in the queue, not to start before `pause` is over.

    Spends one of its restarts. False, and nothing is changed, if none is left, if its end was asked for,
    or if it is not in `old` any more.
    """
    with transaction.atomic():
        _lock_pools([job_id])
        row = Job.objects.select_for_update(no_key=True).filter(pk=job_id, state=old, stop_requested_at=None)
        found = row.filter(restarts__lt=F("max_restarts")).values_list("restarts", "max_restarts").first()
        if found is None:
            return False
        Job.objects.filter(pk=job_id).update(restarts=found[0] + 1)
        data = {"restart": found[0] + 1, "most": found[1], "reason": reason.as_json()}
        return bool(_change([job_id], Change(old, State.QUEUED, RESTARTED, data, pause=pause)))


def requeue(
    job_id: int, old: State, *, reason: Reason, avoid: Collection[int] = (), most: int | None = None
) -> bool:
    """Sends a placed job back to its old place in the queue, to start again as soon as it can, and spends
    none of its restarts: what went wrong was not its own doing.

    Placement leaves the nodes `avoid` (ids) out from now on. With `most` it is counted, and not done more
    often than that. False, and nothing is changed, if its end was asked for, or if it is not in `old`.
    """
    with transaction.atomic():
        _lock_pools([job_id])
        row = Job.objects.select_for_update(no_key=True).filter(pk=job_id, state=old, stop_requested_at=None)
        job = row.only("avoided", "platform_restarts").first()
        if job is None or (most is not None and job.platform_restarts >= most):
            return False
        times = job.platform_restarts + (most is not None)
        avoided = _with(job.avoided, avoid)
        Job.objects.filter(pk=job_id).update(avoided=avoided, platform_restarts=times)
        data: dict[str, Any] = {"reason": reason.as_json()}
        if most is not None:
            data |= {"restart": times, "most": most}
        return bool(_change([job_id], Change(old, State.QUEUED, REQUEUED, data)))


def prioritize(job_id: int, priority: Priority, *, actor: User) -> bool:
    """Gives a waiting job another priority. False, and nothing is changed, if it does not wait any more."""
    with transaction.atomic():
        _lock_pools([job_id])
        job = Job.objects.select_for_update(no_key=True).light().get(pk=job_id)
        if job.state != State.QUEUED or job.stop_requested_at is not None:
            return False
        if job.priority != priority:
            told: dict[str, Any] = {"old": Priority(job.priority).label_code, "new": priority.label_code}
            _reclass(job, priority=priority)
            event(job_id, "priority_changed", actor=actor, **told)
            pool_changed(job.pool_id)
    return True


def _with(kept: str, nodes: Collection[int]) -> str:
    """The nodes to avoid, with these. Of too many these stay, and of the earlier ones, whose order is not
    kept, those with the highest ids."""
    earlier = sorted(avoided_ids(kept) - set(nodes))
    return avoided_text([*earlier, *sorted(set(nodes))][-MOST_AVOIDED:])


def _reclass(job: Job, **values: Any) -> None:
    """Writes what puts a waiting job into another class. The pool and the job are locked."""
    old = Moving.of(job)
    Job.objects.filter(pk=job.pk).update(**values)
    new = old._replace(**values)
    if job.state == State.QUEUED and new != old:
        waiting_change(old.waiting_class, -1)
        waiting_change(new.waiting_class, 1)


def _change(job_ids: Sequence[int], change: Change) -> list[int]:
    now = timezone.now()
    old, new = change.old, change.new
    with transaction.atomic():
        if old == State.QUEUED or new == State.QUEUED or new in TERMINAL:
            _lock_pools(job_ids)
        rows = Job.objects.select_for_update(no_key=True).filter(among(job_ids), state=old).order_by("pk")
        jobs = [Moving(*row) for row in rows.values_list(*Moving._fields)]
        moved = [job.pk for job in jobs]
        if moved:
            _write(moved, change, now)
            _insert_events(moved, now, change.code, change.data, change.actor)
            _count_waiting(jobs, old, new)
            if new == State.QUEUED:
                _let_wait(jobs, now + change.pause)
            if old in PLACED and (new in TERMINAL or new == State.QUEUED):
                _end_attempts(jobs, now)
    return moved


def event(
    job_id: int, code: str, *, actor: User | None = None, at: datetime | None = None, **data: Any
) -> None:
    """Adds to the history of a job something that is no change of state, and that happened now or `at`."""
    told = {"code": code, "data": data, "actor": actor, "to_tell": code in JOB_EVENTS}
    JobEvent.objects.create(job_id=job_id, at=at or timezone.now(), **told)


def events(job_ids: Sequence[int], code: str, **data: Any) -> None:
    """The same for many jobs."""
    _insert_events(job_ids, timezone.now(), code, data)


def events_date(times: Mapping[int, datetime]) -> None:
    """Dates the last event of each job, by its id: the console may have come to see much later what it tells
    of. Never before the event that it followed."""
    from_the_end = Window(RowNumber(), partition_by=F("job"), order_by=F("pk").desc())
    rows = JobEvent.objects.filter(job__in=list(times)).annotate(back=from_the_end).filter(back__lte=2)
    history: dict[int, list[tuple[int, datetime]]] = defaultdict(list)
    for job, pk, at in rows.order_by("pk").values_list("job", "pk", "at"):
        history[job].append((pk, at))
    dated = {told[-1][0]: max([times[job], *(at for _pk, at in told[:-1])]) for job, told in history.items()}
    bulk_update(JobEvent, {"id": list(dated), "at": list(dated.values())})


def _lock_pools(job_ids: Sequence[int]) -> None:
    pools = Job.objects.filter(among(job_ids)).order_by().values_list("pool", flat=True).distinct()
    for pool_id in sorted(set(pools)):
        pool_lock(pool_id=pool_id)


def _write(moved: Sequence[int], change: Change, now: datetime) -> None:
    reason = change.reason.as_json() if change.reason else None
    values: dict[str, Any] = {"state": change.new, "reason": reason, "deploy_step": "", "queue_until": None}
    if change.new == State.DEPLOYING:
        values |= {"deploy_step": "allocate", "attempt": F("attempt") + 1}
    elif change.new == State.RUNNING:
        values["started_at"] = now
    elif change.new in TERMINAL:
        values["ended_at"] = now
    Job.objects.filter(among(moved)).update(**values)


def _let_wait(jobs: Sequence[Moving], eligible_at: datetime) -> None:
    """From when the jobs may start, and until when they may wait, which counts from then."""
    by_limit: dict[int | None, list[int]] = defaultdict(list)
    for job in jobs:
        by_limit[job.max_queue_seconds].append(job.pk)
    for limit, ids in by_limit.items():
        Job.objects.filter(among(ids)).update(
            started_at=None, eligible_at=eligible_at, queue_until=queue_end(eligible_at, limit)
        )


def queue_end(eligible_at: datetime, limit_seconds: int | None) -> datetime | None:
    """Until when a job may wait that may start from `eligible_at` on; None: for ever."""
    return None if limit_seconds is None else eligible_at + timedelta(seconds=limit_seconds)


def _insert_events(
    job_ids: Sequence[int], at: datetime, code: str, data: Mapping[str, Any], actor: User | None = None
) -> None:
    same = {"at": at, "code": code, "data": dict(data), "actor": actor.pk if actor else None}
    same["to_tell"] = code in JOB_EVENTS
    bulk_insert(JobEvent, {"job": list(job_ids), **{name: Same(value) for name, value in same.items()}})


def _count_waiting(jobs: Sequence[Moving], old: State, new: State) -> None:
    if State.QUEUED not in (old, new):
        return
    step = 1 if new == State.QUEUED else -1
    for key, count in sorted(Counter(job.waiting_class for job in jobs).items()):
        waiting_change(key, step * count)


def waiting_change(key: WaitingKey, jobs: int) -> None:
    """Adds to a waiting total, by what tells classes of waiting jobs apart. The pool is locked."""
    names = ("pool_id", "flavor_id", "team_id", "priority", "worker_gpus", "total_gpus", "avoided")
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
