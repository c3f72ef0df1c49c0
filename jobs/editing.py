"""Changing what may be changed of a job that exists: its priority while it waits, description, tags,
and alerts until its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.db import transaction

from jobs.alerting import rules_replace
from jobs.facts import ChannelFacts, Facts
from jobs.findings import Finding, Level
from jobs.lifecycle import event, prioritize
from jobs.models import Job, JobTag
from jobs.reading import channels_read
from jobs.rules.alerts import alerts
from jobs.rules.basics import basics
from jobs.rules.running import advanced
from jobs.services import RequestRefused, may_stop
from jobs.spec import AlertAsked
from jobs.states import Priority
from teams.models import Membership, User

EDITED = ("priority", "description", "tags", "alerts")


class NotWaiting(Exception):
    """The priority of a job was to be changed that is not waiting any more."""


class HasEnded(Exception):
    """The alerts of a job were to be changed that has ended."""


@dataclass(frozen=True, slots=True)
class Edit:
    """The new values, the priority as its code; None: as it is."""

    priority: str | None = None
    description: str | None = None
    tags: tuple[str, ...] | None = None
    alerts: tuple[AlertAsked, ...] | None = None


def may_edit(*, user: User, job: Job) -> bool:
    """Who may stop a job may also change its place."""
    return may_stop(user=user, job=job)


def may_use_high(*, user: User, job: Job) -> bool:
    return Membership.objects.filter(user=user, team=job.team_id, may_use_high_priority=True).exists()


def job_edit(*, job: Job, actor: User, edit: Edit) -> None:
    """Changes all that is asked for, or nothing. RequestRefused if it breaks a rule of requests, NotWaiting
    if the priority cannot change any more, HasEnded if the alerts cannot. Alerts to channels that the actor
    may not use stay."""
    channels = channels_read(actor.pk, job.team_id) if edit.alerts is not None else {}
    if errors := _errors(job, actor, edit, channels):
        raise RequestRefused(errors)
    with transaction.atomic():
        # The row is locked after the pool, as in every move; of two edits one comes after the other.
        if edit.priority is not None and not prioritize(job.pk, Priority.of(edit.priority), actor=actor):
            raise NotWaiting(job.key)
        locked = Job.objects.select_for_update(no_key=True).light().get(pk=job.pk)
        if edit.alerts is not None:
            if locked.finished:
                raise HasEnded(job.key)
            if rules_replace(job=locked, actor=actor, alerts=edit.alerts, usable=channels):
                event(job.pk, "alerts_changed", actor=actor)
        if edit.description is not None:
            Job.objects.filter(pk=job.pk).update(description=edit.description)
        if edit.tags is not None:
            JobTag.objects.filter(job=job).delete()
            JobTag.objects.bulk_create([JobTag(job=job, name=tag) for tag in dict.fromkeys(edit.tags)])


def _errors(job: Job, actor: User, edit: Edit, channels: Mapping[int, ChannelFacts]) -> list[Finding]:
    """What the rules of requests say of the fields that are to change."""
    asked = {name: getattr(edit, name) for name in EDITED if getattr(edit, name) is not None}
    spec = replace(job.spec_asked, **asked)
    high = job.priority == Priority.HIGH or may_use_high(user=actor, job=job)
    facts = Facts(now=job.created_at, teams=frozenset(), may_use_high_priority=high, channels=channels)
    found = [*alerts(spec, facts), *basics(spec), *advanced(spec, facts)]
    errors = (one for one in found if one.level == Level.ERROR)
    return [one for one in errors if one.field.partition(".")[0] in asked]
