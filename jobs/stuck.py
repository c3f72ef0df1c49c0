"""Queues in which something waits that could start, and nothing does."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

from alerts.limits import limits_passed
from alerts.marks import mark_clear, mark_move, mark_read, marks_of
from alerts.rules import Subject
from jobs.models import Attempt, Job
from jobs.queued import waiting_by_pool
from jobs.reasons import reasons_read
from pools.models import Pool
from pools.notices import post_of_pool

EVENT = "queue_stuck"
MARK = f"{EVENT}:"


def queues_watch() -> int:
    """Notes since when each queue is stuck, and tells whoever's limit has passed; how many notices that was.

    What fits for a moment is the next cycle's to start. So a queue counts as stuck from the first look that
    finds it so, and again from the first one after anything has started in the pool.
    """
    stuck = _could_start()
    for key in marks_of(MARK):
        if int(key.removeprefix(MARK)) not in stuck:
            mark_clear(key)
    return sum(_watch(pool) for pool in Pool.objects.filter(pk__in=stuck).order_by("pk"))


def _could_start() -> set[int]:
    """The pools in which the next cycle would start a job."""
    pools = list(
        Pool.objects.filter(waiting__jobs__gt=0, paused=False).distinct().values_list("pk", flat=True)
    )
    if not pools:
        return set()
    firsts = [w.first for waiting in waiting_by_pool(pools).values() for w in waiting if w.first is not None]
    jobs = list(Job.objects.filter(pk__in=firsts).light())
    reasons = reasons_read(jobs)
    return {job.pool_id for job in jobs if reasons[job.pk] is None}


def _watch(pool: Pool) -> int:
    now = timezone.now()
    key = f"{MARK}{pool.pk}"
    since = mark_read(key)
    if _started_since(pool, since):
        mark_move(key, at=now)
        return 0
    passed = limits_passed(subject=Subject.POOL, subject_id=pool.pk, event=EVENT, since=since, now=now)
    return sum(
        post_of_pool(
            pool=pool,
            code=EVENT,
            once=f"{since.isoformat()}:{minutes}",
            data={"minutes": minutes, "since": since.isoformat()},
            channels=channels,
        )
        for minutes, channels in passed.items()
    )


def _started_since(pool: Pool, moment: datetime) -> bool:
    """Whether an attempt of the pool is of a later time; reads those alone, of all pools."""
    return Attempt.objects.filter(job__pool=pool, placed_at__gte=moment).exists()
