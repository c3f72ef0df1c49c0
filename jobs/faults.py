"""Nodes that are taken from under jobs: drained, or down.

The state of a node in the database is the truth; what runs on such a node is marked here, and ended by
whoever looks after the processes. The holds stay until those are gone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from jobs.findings import Reason
from jobs.hints import jobs_due
from jobs.lifecycle import event
from jobs.models import Attempt, Job, Worker
from pools.models import LEFT_BY_JOBS, Hold, NodeState
from pools.services import pool_lock

MOST_PLATFORM_RESTARTS = 5
AGAIN, RESTART, FAIL = "again", "restart", "fail"


@dataclass(frozen=True, slots=True)
class Concerned:
    """A job with Workers on nodes, and what becomes of it if they are taken: AGAIN, as it has not started;
    RESTART; FAIL. Empty: its end is under way already."""

    job: Job
    fate: str


def faults_settle(pool_id: int | None = None) -> list[int]:
    """Marks what runs on drained nodes and on nodes that are down, in one pool or in all; answers the jobs.
    Safe to repeat: an attempt is marked once."""
    jobs: list[int] = []
    workers = _unmarked(pool_id).order_by("attempt__job__pool")
    for pool in list(workers.values_list("attempt__job__pool", flat=True).distinct()):
        with transaction.atomic():
            pool_lock(pool_id=pool)
            jobs += _mark(_unmarked(pool))
    return jobs


def _unmarked(pool_id: int | None) -> QuerySet[Worker]:
    holds = Hold.objects.filter(node__state__in=LEFT_BY_JOBS)
    if pool_id is not None:
        holds = holds.filter(node__flavor__pool=pool_id)
    return Worker.objects.filter(
        pk__in=holds.values("worker_id"), attempt__fault__isnull=True, attempt__ended_at=None
    )


def _mark(workers: QuerySet[Worker]) -> list[int]:
    """Notes the fault of each attempt, with all its nodes that are concerned. The pool is locked."""
    by_attempt: dict[Attempt, list[Worker]] = defaultdict(list)
    for worker in workers.select_related("attempt", "node").order_by("node__name"):
        by_attempt[worker.attempt].append(worker)
    now = timezone.now()
    for attempt, lost in by_attempt.items():
        reason = _reason(lost)
        attempt.fault = {"reason": reason.as_json(), "nodes": sorted({w.node_id for w in lost if w.node_id})}
        attempt.fault_at = now
        attempt.save(update_fields=["fault", "fault_at"])
        event(attempt.job_id, "node_fault", at=now, reason=reason.as_json())
    jobs = [attempt.job_id for attempt in by_attempt]
    jobs_due(jobs)
    return jobs


def _reason(workers: Iterable[Worker]) -> Reason:
    """A node that is down weighs more than a drained one: nothing there can be ended in peace."""
    nodes = {w.node.name: w.node.state for w in workers if w.node}
    down = [name for name, state in nodes.items() if state == NodeState.DOWN]
    names = down or list(nodes)
    return Reason("node_lost" if down else "drained", {"node": names[0], "nodes": names})


def jobs_concerned(nodes: Iterable[int]) -> list[Concerned]:
    """The jobs that would have to leave these nodes, in the order of their ids."""
    workers = Worker.objects.filter(pk__in=Hold.objects.filter(node__in=list(nodes)).values("worker_id"))
    attempts = Attempt.objects.filter(workers__in=workers, ended_at=None).distinct()
    jobs = attempts.select_related("job__team", "job__creator").order_by("job_id")
    return [Concerned(attempt.job, fate_of(attempt.job, attempt)) for attempt in jobs]


def fate_of(job: Job, attempt: Attempt) -> str:
    ending = job.stop_requested_at is not None or attempt.fault is not None
    return "" if ending else fate_by_rule(job, attempt)


def fate_by_rule(job: Job, attempt: Attempt) -> str:
    """What becomes of a job whose attempt loses its nodes, if nothing else ends it before."""
    if attempt.started_at is None:
        return AGAIN
    return RESTART if job.max_restarts and job.platform_restarts < MOST_PLATFORM_RESTARTS else FAIL
