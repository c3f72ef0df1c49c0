"""What follows from the environment checks of an attempt: leave to run its commands, or its end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from django.db import transaction

from engines.base import Engine, Phase, WorkerLook
from jobs.findings import Reason
from jobs.lifecycle import event, requeue
from jobs.models import Attempt, Job, Worker
from jobs.states import DeployStep, State
from runs.deployment import record_broken
from runs.env_check.values import Culprit, Item, culprits, items_of, report_of
from runs.launching import asked_of, attempt_key
from runs.stages import Broken

CODE = "env_check"
MOST_FAILED = 2  # attempts of a job that end so: the second is on other nodes


def unread_checks(workers: Sequence[Worker], looks: Sequence[WorkerLook]) -> bool:
    """Whether a check has ended that was not written down, or all have and the commands wait for leave."""
    known = {look.rank: look for look in looks}
    new = any(look.check is not None for look in looks)
    return new and (
        any(w.env_check is None and w.rank in known and known[w.rank].check is not None for w in workers)
        or all(look.check is not None or look.phase is not Phase.STARTING for look in looks)
    )


def record_checks(job: Job, workers: Sequence[Worker], looks: Sequence[WorkerLook]) -> None:
    """Keeps what the checks have found, each once."""
    checks = {look.rank: look.check for look in looks if look.check is not None}
    new = [worker for worker in workers if worker.rank in checks and worker.env_check is None]
    if not new:
        return
    asked = asked_of(job, new[0], len(workers))  # but for the GPUs the same for all: the request is large
    for worker in new:
        report = report_of(checks[worker.rank], replace(asked, gpus=tuple(worker.gpus)))
        Worker.objects.filter(pk=worker.pk, env_check__isnull=True).update(env_check=report)
        worker.env_check = report


def record_culprits(
    job: Job, attempt: Attempt, workers: Sequence[Worker], looks: Sequence[WorkerLook]
) -> None:
    """Once all Workers are checked and some have failed: the note that the attempt is to end."""
    found = culprits(_reports(workers)) if _await_leave(workers, looks) else ()
    if not found:
        return
    reason = Reason(CODE, told_of(found, workers))
    ended = max((worker.env_check or {}).get("ended_at") or 0.0 for worker in workers)
    with transaction.atomic():
        if record_broken(attempt, Broken(DeployStep.ENV_CHECK, ended or time.time(), reason)):
            event(job.pk, "env_check_failed", **reason.data)


def release_checked(engine: Engine, job: Job, workers: Sequence[Worker], looks: Sequence[WorkerLook]) -> None:
    """Once all Workers are checked and none has failed: leave to run their commands. To be called only for an
    attempt that nothing is to end: leave cannot be taken back."""
    if _await_leave(workers, looks) and job.stop_requested_at is None and not culprits(_reports(workers)):
        engine.release(attempt_key(job))


def _await_leave(workers: Sequence[Worker], looks: Sequence[WorkerLook]) -> bool:
    waiting = any(look.phase is Phase.STARTING for look in looks)
    return waiting and len(looks) >= len(workers) and all(worker.env_check is not None for worker in workers)


def _reports(workers: Sequence[Worker]) -> dict[int, tuple[Item, ...]]:
    return {worker.rank: items_of(worker.env_check or {}) for worker in workers}


def told_of(found: Sequence[Culprit], workers: Sequence[Worker]) -> dict[str, object]:
    """The first to blame, with its node, and how many there are."""
    first = found[0]
    node = next(worker.node_name for worker in workers if worker.rank == first.rank)
    item = {"item": first.item.item, "found": first.item.code, "data": dict(first.item.data)}
    return {"rank": first.rank, "node": node, **item, "failed_workers": len(found)}


def moved_elsewhere(job: Job, attempt: Attempt, old: State, reason: Reason | None) -> bool:
    """Whether a job whose check has failed goes to other nodes, which it does once. Its pool is locked."""
    if reason is None or reason.code != CODE:
        return False
    failed = Attempt.objects.filter(job=job, deployment__broken__reason__code=CODE).count()
    if failed >= MOST_FAILED:
        return False
    workers = list(attempt.workers.filter(env_check__isnull=False))
    ranks = {culprit.rank for culprit in culprits(_reports(workers))}
    nodes = {w.node_id for w in workers if w.rank in ranks and w.node_id is not None}
    return requeue(job.pk, old, reason=reason, avoid=nodes)
