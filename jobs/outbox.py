"""What is told of the events of jobs: each once, in the order in which they happened.

An event that is to be told of is flagged when it is written, and that is all that a move costs. Here its
notice is posted and the flag taken away, in one transaction: whoever dies has done both or neither.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import OperationalError, transaction
from django.db.models import OuterRef, Subquery

from alerts.rules import Subject
from alerts.services import NewNotice, notices_post
from jobs.models import Attempt, Job, JobEvent
from pools.bulk import among
from teams.models import Membership

logger = logging.getLogger(__name__)

MOST_TOLD = 500  # events in one transaction
MOST_BATCHES = 8  # in one call

# What the creator of a job has behind the bell, whatever its rules ask for.
FOR_CREATORS = frozenset(
    {
        *("succeeded", "failed", "stopped", "restarts_used_up"),
        *("hang_suspected", "hang", "env_check_failed", "node_fault"),
    }
)


def events_tell() -> int:
    """Posts the notices of events that are to be told of; how many events were dealt with. Several may run at
    once: each takes other events."""
    told = 0
    if not JobEvent.objects.filter(to_tell=True).exists():  # most ticks: SQLite has one lock for all writers
        return told
    for _ in range(MOST_BATCHES):
        batch = _batch_tell()
        told += batch
        if batch < MOST_TOLD:
            break
    return told


def _batch_tell() -> int:
    with transaction.atomic():
        untold = JobEvent.objects.filter(to_tell=True).order_by("pk")
        locked = untold.select_for_update(skip_locked=True, no_key=True)
        ids = list(locked.values_list("pk", flat=True)[:MOST_TOLD])
        if ids:
            events = list(_read(ids))
            members = still_members(event.job for event in events)
            _tell([one for one in events if not one.job.draft], members)
            JobEvent.objects.filter(among(ids)).update(to_tell=False)
    return len(ids)


def _tell(events: Sequence[Any], members: set[tuple[int, int]]) -> None:
    """One of which nothing can be told must not hold up the others for ever: the log says that it is lost."""
    try:
        with transaction.atomic():
            notices_post([_notice(one, members) for one in events])
    except OperationalError:  # of the database as a whole: all of them are told later
        raise
    except Exception:
        if len(events) == 1:
            logger.exception("event %s cannot be told of and is given up", events[0].pk)
            return
        for one in events:
            _tell([one], members)


def _read(ids: Sequence[int]) -> Iterable[Any]:
    """The events with their jobs, and the attempt in which each happened."""
    attempts = Attempt.objects.filter(job=OuterRef("job"), placed_at__lte=OuterRef("at")).order_by("-number")
    events = JobEvent.objects.filter(among(ids)).select_related("actor", *RELATED).only(*READ)
    return events.annotate(
        in_attempt=Subquery(attempts.values("number")[:1]),
        first_failure=Subquery(attempts.values("first_failure")[:1]),
    ).order_by("pk")


RELATED = ("job__pool", "job__team", "job__creator")
READ = (
    *("at", "code", "data", "actor__username", "job__key", "job__name", "job__state", "job__draft"),
    *("job__exit_code", "job__pool__name", "job__team__name", "job__creator__username"),
)


def still_members(jobs: Iterable[Job]) -> set[tuple[int, int]]:
    """Team and person, of the jobs whose creators still belong to their teams: others hear of nothing."""
    pairs = {(job.team_id, job.creator_id) for job in jobs}
    members = Membership.objects.filter(
        team__in={team for team, _ in pairs}, user__in={user for _, user in pairs}, user__is_active=True
    )
    return pairs.intersection(members.values_list("team", "user"))


def _notice(event: Any, members: set[tuple[int, int]]) -> NewNotice:
    job: Job = event.job
    codes = (event.code, *(("restarts_used_up",) if "restarts_used_up" in event.data else ()))
    mine = event.code in FOR_CREATORS and (job.team_id, job.creator_id) in members
    if event.code == "stopped" and event.actor_id == job.creator_id:
        mine = False
    once = f"job:{job.pk}:{event.code}" if event.code == "env_check_failed" else f"event:{event.pk}"
    data = job_data(job) | {"attempt": event.in_attempt or 0, "event": event.data}
    if event.actor is not None:
        data["actor"] = event.actor.username
    if event.code == "failed":
        data |= {"exit_code": job.exit_code, "first_failure": event.first_failure}
    return NewNotice(
        key=once,
        codes=codes,
        subject=Subject.JOB,
        subject_id=job.pk,
        at=event.at,
        team=job.team_id,
        data=data,
        readers=(job.creator_id,) if mine else (),
    )


def job_data(job: Job) -> dict[str, Any]:
    """Of a job, what every notice of it tells."""
    names = {"pool": job.pool.name, "team": job.team.name, "creator": job.creator.username}
    return {"name": job.name, "key": job.key, "state": job.state, **names}
