"""Ends many jobs at once whose attempts ended by themselves and in the same way.

After a burst, or when the console comes back to jobs that went on without it, thousands of attempts have
ended: one by one each costs two dozen statements and a queue cycle. How a command ended never changes
any more, so a look at that may be acted on later; that the job still is in this attempt is checked
under the locks, as for a single one.
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from django.db import transaction

from engines.base import Phase, WorkerLook
from jobs.lifecycle import events, events_date, move
from jobs.models import Attempt, Job, Worker
from jobs.states import State
from pools.bulk import Same, among, bulk_update
from pools.services import pool_lock
from runs.deployment import untold_steps
from runs.verdict import Verdict

logger = logging.getLogger(__name__)

PLAIN_REASONS = (None, "exit_code", "signal")
MOST_ENDS = 500  # in one transaction, for which the pool is locked


class Sight(Protocol):
    """What `watching` has seen of a job."""

    @property
    def job(self) -> Job: ...
    @property
    def attempt(self) -> Attempt: ...
    @property
    def workers(self) -> Sequence[Worker]: ...
    @property
    def looks(self) -> Sequence[WorkerLook]: ...
    @property
    def verdict(self) -> Verdict: ...


class Ended(NamedTuple):
    """A running job whose Workers have all ended, each by itself, and that goes to its end by `verdict`."""

    job: Job
    attempt: Attempt
    workers: Sequence[Worker]
    looks: Sequence[WorkerLook]
    verdict: Verdict

    @property
    def alike(self) -> tuple[int, str]:
        """Equal for jobs of which the same is to be written."""
        verdict = self.verdict
        reason = verdict.reason.as_json() if verdict.reason else None
        told = [verdict.end, reason, verdict.exit_code, verdict.first_failure, len(self.workers)]
        return self.job.pool_id, json.dumps(told, sort_keys=True)

    @property
    def at(self) -> datetime:
        """When the last Worker ended."""
        return _time(max(look.ended_at or 0.0 for look in self.looks))


def end_alike(sights: Iterable[Sight]) -> set[int]:
    """Ends the jobs of which nothing but a plain end is to be told, and answers their ids. What fails
    together is left to be tried alone."""
    ended: set[int] = set()
    for batch in batches(plain_ends(sights)):
        try:
            ended.update(end_together(batch))
        except Exception:
            logger.exception("%s jobs: ending them together failed", len(batch))
    return ended


def plain_ends(sights: Iterable[Sight]) -> Iterator[Ended]:
    """Of what was seen, the jobs for which nothing else is due: no restart, no stop, nothing of their
    deployment left to tell, no files to keep."""
    for sight in sights:
        job, attempt, looks = sight.job, sight.attempt, sight.looks
        if job.state != State.RUNNING or job.max_restarts or job.stop_requested_at is not None:
            continue
        if attempt.started_at is None or not _alone(looks, len(sight.workers)):
            continue
        if untold_steps(attempt, looks, len(sight.workers)) or _untold_checks(sight.workers, looks):
            continue
        verdict = sight.verdict
        code = None if verdict.reason is None else verdict.reason.code
        if verdict.end == State.FAILED and attempt.files_held:
            continue
        if verdict.end in (State.SUCCEEDED, State.FAILED) and code in PLAIN_REASONS:
            yield Ended(job, attempt, sight.workers, looks, verdict)


def _untold_checks(workers: Sequence[Worker], looks: Sequence[WorkerLook]) -> bool:
    checked = any(look.check is not None for look in looks)
    return checked and any(worker.env_check is None for worker in workers)


def _alone(looks: Sequence[WorkerLook], expected: int) -> bool:
    """Whether all have ended, and nobody ended them."""
    ended = [look.phase == Phase.EXITED and not look.stopped and look.ended_at is not None for look in looks]
    return len(ended) == expected and all(ended)


def batches(ends: Iterable[Ended]) -> Iterator[list[Ended]]:
    """Those of one pool with the same verdict, as many as one transaction may end."""
    by_sort: dict[tuple[int, str], list[Ended]] = defaultdict(list)
    for ended in ends:
        by_sort[ended.alike].append(ended)
    for alike in by_sort.values():
        for first in range(0, len(alike), MOST_ENDS):
            yield alike[first : first + MOST_ENDS]


def end_together(batch: Sequence[Ended]) -> list[int]:
    """Ends the jobs of a batch that still run in the attempt that was seen; answers their ids."""
    verdict = batch[0].verdict
    assert verdict.end is not None  # noqa: S101  (they are plain)
    with transaction.atomic():
        pool_lock(pool_id=batch[0].job.pool_id)  # before any job: the order of all who take both
        ends = _current(batch)
        if not ends:
            return []
        _keep_workers(ends)
        _tell_failures(ends)
        moved = move([e.job.pk for e in ends], State.RUNNING, verdict.end, reason=verdict.reason)
        times = [e.at for e in ends]
        bulk_update(Attempt, {"id": [e.attempt.pk for e in ends], "ended_at": times})
        jobs = [e.job.pk for e in ends]
        events_date(dict(zip(jobs, times, strict=True)))
        bulk_update(Job, {"id": jobs, "exit_code": Same(verdict.exit_code), "ended_at": times})
    return moved


def _current(batch: Sequence[Ended]) -> list[Ended]:
    """Locks the jobs, and leaves out those that have moved on, or whose end was asked for since: that may
    have been before they ended."""
    rows = Job.objects.select_for_update(no_key=True).filter(among(e.job.pk for e in batch))
    running = rows.filter(state=State.RUNNING, stop_requested_at=None).order_by("pk")
    attempts = dict(running.values_list("pk", "attempt"))
    return [e for e in batch if attempts.get(e.job.pk) == e.attempt.number]


def _keep_workers(ends: Sequence[Ended]) -> None:
    """Writes how the Workers ended, where that was not known. What is known once stays."""
    known = {worker.pk for e in ends for worker in e.workers if worker.ended_at is not None}
    rows = [
        (worker, look)
        for e in ends
        for worker, look in zip(e.workers, sorted(e.looks, key=lambda look: look.rank), strict=True)
        if worker.pk not in known
    ]
    bulk_update(
        Worker,
        {
            "id": [worker.pk for worker, _ in rows],
            "exit_code": [look.exit_code for _, look in rows],
            "signal": [look.signal for _, look in rows],
            "started_at": [
                worker.started_at or (_time(look.started_at) if look.started_at else None)
                for worker, look in rows
            ],
            "ended_at": [_time(look.ended_at) for _, look in rows],
        },
    )


def _tell_failures(ends: Sequence[Ended]) -> None:
    """Tells the first failure once a job, whoever sees it first."""
    failure = ends[0].verdict.first_failure
    if failure is None:
        return
    rows = Attempt.objects.select_for_update(no_key=True).filter(among(e.attempt.pk for e in ends))
    untold = dict(rows.filter(first_failure__isnull=True).order_by("pk").values_list("pk", "job"))
    Attempt.objects.filter(among(untold)).update(first_failure=failure)
    jobs = sorted(untold.values())
    events(jobs, "worker_failed", **failure, workers=len(ends[0].workers))
    times = {e.job.pk: _time(_look_of(e, failure["rank"]).ended_at) for e in ends}
    events_date({job: times[job] for job in jobs})


def _look_of(ended: Ended, rank: int) -> WorkerLook:
    return next(look for look in ended.looks if look.rank == rank)


def _time(seconds: float | None) -> datetime:
    """Of a Worker that has ended by itself, whose end is known."""
    return datetime.fromtimestamp(seconds or 0.0, UTC)
