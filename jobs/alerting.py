"""The alert rules of jobs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from alerts.models import Channel, Rule
from alerts.rules import Subject
from jobs.models import Job
from jobs.spec import AlertAsked
from teams.models import User


@dataclass(frozen=True, slots=True)
class SeenAlert:
    """An alert as somebody may see it. Of a channel that is hidden from them neither id nor name is told."""

    events: tuple[str, ...]
    channel: int | None
    minutes: int | None
    name: str


def rules_store(*, job: Job, alerts: Iterable[AlertAsked]) -> None:
    """The rules of a job that was just made: no limit of a timed one can be over before its minutes are."""
    Rule.objects.bulk_create(_rules(job, job.creator_id, alerts, since=job.created_at))


def rules_replace(*, job: Job, actor: User, alerts: Iterable[AlertAsked], usable: Collection[int]) -> bool:
    """Others, of the actor, in the place of those that lead to the `usable` channels, and whether they are
    others; what leads elsewhere stays. A limit may be over by now, so that timed ones are looked at next."""
    rules = _rules(job, actor.pk, alerts)
    there = Rule.objects.filter(subject=Subject.JOB, subject_id=job.pk, channel__in=usable)
    if [_means(rule) for rule in there.order_by("pk")] == [_means(rule) for rule in rules]:
        return False
    there.delete()
    now = timezone.now()
    for rule in rules:
        rule.look_at = now if rule.minutes is not None else None
    Rule.objects.bulk_create(rules)
    return True


def _means(rule: Rule) -> tuple[int, list[str], int | None]:
    return rule.channel_id, rule.events, rule.minutes


def alerts_seen(*, job: Job, user: User) -> tuple[SeenAlert, ...]:
    """Those of the job, in their order."""
    alerts = job.alerts
    return seen(alerts, names_read(user, alerts))


def seen(alerts: Sequence[AlertAsked], names: Mapping[int, str]) -> tuple[SeenAlert, ...]:
    """With the names of the channels that somebody may see, by id."""
    return tuple(
        SeenAlert(
            one.events, one.channel if one.channel in names else None, one.minutes, names.get(one.channel, "")
        )
        for one in alerts
    )


def names_read(user: User, alerts: Iterable[AlertAsked]) -> dict[int, str]:
    """The names of their channels, as far as the user may see them; asks nothing where there are none."""
    ids = {one.channel for one in alerts}
    channels = Channel.objects.for_user(user).filter(pk__in=ids).order_by()
    return dict(channels.values_list("pk", "name")) if ids else {}


def _rules(job: Job, author: int, alerts: Iterable[AlertAsked], since: datetime | None = None) -> list[Rule]:
    return [
        Rule(
            subject=Subject.JOB,
            subject_id=job.pk,
            author_id=author,
            channel_id=one.channel,
            events=list(dict.fromkeys(one.events)),
            minutes=one.minutes,
            look_at=since + timedelta(minutes=one.minutes) if since and one.minutes else None,
        )
        for one in alerts
    ]
