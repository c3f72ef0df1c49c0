"""What the present attempt of a job tells beside its state: that it may hang, or has to leave its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from jobs.faults import fate_by_rule
from jobs.models import Attempt, Job
from jobs.rules.limits import LOST_GRACE_SECONDS
from jobs.states import PLACED, State

SUSPECTED, HUNG = "suspected", "hung"


@dataclass(frozen=True, slots=True)
class Hang:
    """`state` is SUSPECTED or HUNG; `since` is the last output before the silence."""

    state: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Leaving:
    """A run that is ended as its nodes were taken: why, as code and data, since when, and what becomes of
    the job, as `jobs.faults` names it."""

    reason: Mapping[str, Any]
    since: datetime
    fate: str

    def until(self, stop_grace_seconds: int) -> datetime:
        """When the last of its processes is killed, at the latest."""
        lost = self.reason["code"] == "node_lost"
        return self.since + timedelta(seconds=LOST_GRACE_SECONDS if lost else stop_grace_seconds)


@dataclass(frozen=True, slots=True)
class Present:
    """At most one of the two is told: what is being ended is waited for no more."""

    hang: Hang | None = None
    leaving: Leaving | None = None


NOTHING = Present()


def present_of(job: Job, attempt: Attempt | None) -> Present:
    """Of a job with its latest attempt; nothing once its end was asked for."""
    if attempt is None or attempt.ended_at is not None or job.state not in PLACED or job.stopping:
        return NOTHING
    if attempt.fault is not None and attempt.fault_at is not None:
        return Present(leaving=Leaving(attempt.fault["reason"], attempt.fault_at, fate_by_rule(job, attempt)))
    silent_since = attempt.suspected_at or attempt.hung_at
    if silent_since is None or job.state != State.RUNNING:
        return NOTHING
    return Present(Hang(HUNG if attempt.hung_at else SUSPECTED, silent_since))


def present_read(jobs: Iterable[Job]) -> dict[int, Present]:
    """The same of many jobs, by their ids; those of which there is something to tell. One query, if any of
    them is placed."""
    placed = {job.pk: job for job in jobs if job.state in PLACED and not job.stopping}
    if not placed:
        return {}
    found = {}
    for attempt in Attempt.objects.filter(job__in=list(placed), ended_at=None):
        job = placed[attempt.job_id]
        present = present_of(job, attempt) if attempt.number == job.attempt else NOTHING
        if present != NOTHING:
            found[job.pk] = present
    return found
