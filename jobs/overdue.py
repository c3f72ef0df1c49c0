"""Rules with a time limit: a job that waits, deploys or runs for longer than somebody wanted to be told of.

A rule says itself when it is looked at next: the earliest moment at which there could be something to tell.
No move of a job does anything for it, and a limit that is hours away costs nothing until then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from alerts.models import Rule
from alerts.rules import TIMED_JOB_EVENTS, Subject
from alerts.services import NewNotice, notices_post, rule_may_tell, rules_of
from jobs.findings import Reason
from jobs.models import Attempt, Job
from jobs.outbox import job_data, still_members
from jobs.reading import waiting_since
from jobs.reasons import waits_read
from jobs.states import State
from pools.bulk import among, bulk_update

MOST_LOOKED_AT = 500  # rules in one transaction
Waits = Mapping[int, tuple[int, Reason | None]]
Stay = tuple[int | None, str, int | None]  # job, event and minutes
STATES = {
    "queued_too_long": State.QUEUED,
    "deploying_too_long": State.DEPLOYING,
    "running_too_long": State.RUNNING,
}


def rules_look() -> int:
    """Looks at the rules of jobs that are due and tells what is overdue; how many rules were looked at."""
    now = timezone.now()
    due = Rule.objects.filter(subject=Subject.JOB, look_at__lte=now).order_by("look_at", "pk")
    if not due.exists():
        return 0
    with transaction.atomic():
        rules = list(due.select_for_update(skip_locked=True, no_key=True)[:MOST_LOOKED_AT])
        if rules:
            jobs = {job.pk: job for job in _jobs(rule.subject_id for rule in rules)}
            overdue = [rule for rule in rules if _overdue(rule, jobs.get(rule.subject_id), now)]
            _tell(overdue, jobs)
            looks = [_next_look(rule, jobs.get(rule.subject_id), now) for rule in rules]
            bulk_update(Rule, {"id": [rule.pk for rule in rules], "look_at": looks})
    return len(rules)


def _jobs(ids: Iterable[int | None]) -> Iterable[Any]:
    """The jobs, with since when they are in their states."""
    attempt = Attempt.objects.filter(job=OuterRef("pk"), number=OuterRef("attempt"))
    jobs = Job.objects.filter(among(pk for pk in ids if pk is not None)).light()
    related = jobs.select_related("pool", "team", "creator")
    placed_at = Subquery(attempt.values("placed_at")[:1])
    found: Iterable[Any] = related.annotate(waiting_since=waiting_since(), placed_at=placed_at)
    return found


def _timed(rule: Rule) -> str:
    return next((event for event in rule.events if event in TIMED_JOB_EVENTS), "")


def _since(rule: Rule, job: Any) -> datetime | None:
    """Since when the job is in the state that the rule watches; None: it is not."""
    event = _timed(rule)
    if job is None or job.draft or job.state != STATES.get(event):
        return None
    moments = {State.QUEUED: job.waiting_since, State.DEPLOYING: job.placed_at, State.RUNNING: job.started_at}
    since: datetime | None = moments[State(job.state)]
    return since


def _limit(rule: Rule) -> timedelta:
    return timedelta(minutes=rule.minutes or 0)


def _overdue(rule: Rule, job: Any, now: datetime) -> bool:
    since = _since(rule, job)
    return since is not None and now >= since + _limit(rule)


def _next_look(rule: Rule, job: Any, now: datetime) -> datetime | None:
    """What is not so now, or was told, can be overdue at the earliest when the limit has passed once more."""
    if job is None or job.finished or job.draft or not rule.minutes or not _timed(rule):
        return None
    since = _since(rule, job)
    due = now if since is None else since + _limit(rule)
    return due if due > now else now + _limit(rule)


def _tell(overdue: Iterable[Rule], jobs: dict[int, Any]) -> None:
    """Once for a stay of a job in a state and a limit, to all channels that have this limit: also those whose
    own look comes later."""
    asked: dict[Stay, list[int]] = defaultdict(list)
    stays = {(rule.subject_id, _timed(rule), rule.minutes) for rule in overdue}
    of_jobs = {job for job, _event, _minutes in stays}
    for rule in rules_of(Subject.JOB, [job for job in of_jobs if job is not None]):
        if not rule_may_tell(rule, jobs[rule.subject_id or 0].team_id):
            continue
        asked[rule.subject_id, _timed(rule), rule.minutes].append(rule.channel_id)
    members = still_members(jobs[job or 0] for job in of_jobs)
    waits = waits_read([jobs[job or 0] for job in of_jobs if jobs[job or 0].state == State.QUEUED])
    notices = [_notice(jobs[stay[0] or 0], stay, asked[stay], members) for stay in stays]
    notices_post([_with_wait(notice, waits) for notice in notices])


def _with_wait(notice: NewNotice, waits: Waits) -> NewNotice:
    """Of a job that waits: its place, and why it waits."""
    if notice.subject_id not in waits:
        return notice
    place, reason = waits[notice.subject_id]
    wait = {"place": place, "reason": reason.as_json() if reason else None}
    return replace(notice, data={**notice.data, **wait})


def _notice(job: Any, stay: Stay, channels: list[int], members: set[tuple[int, int]]) -> NewNotice:
    _job, event, minutes = stay
    return NewNotice(
        key=f"job:{job.pk}:{event}:{job.attempt}:{minutes}",
        codes=(event,),
        subject=Subject.JOB,
        subject_id=job.pk,
        at=timezone.now(),
        team=job.team_id,
        data=job_data(job) | {"attempt": job.attempt, "minutes": minutes},
        readers=(job.creator_id,) if (job.team_id, job.creator_id) in members else (),
        channels=tuple(channels),
    )
