"""Notices of jobs for tests of what is done with them, without the jobs."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from alerts.models import Channel, Delivery, Notice, Reading
from teams.models import Team, User


def make_notice(*readers: User, team: Team | None = None, name: str = "a job", **fields: Any) -> Notice:
    """A failed job of that name, as its app writes it; `readers` have it behind the bell."""
    data = {"name": name, "key": "jo-0123456789abcdef", "team": "t", "pool": "p", "state": "failed"}
    data |= {"attempt": 1, "event": {"reason": {"code": "exit_code", "data": {"rank": 0, "exit_code": 3}}}}
    values = {"codes": ["failed"], "subject": "job", "subject_id": 1, "at": timezone.now(), "data": data}
    notice = Notice.objects.create(key=f"n{Notice.objects.count()}", team=team, **values | fields)
    Reading.objects.bulk_create(Reading(notice=notice, user=user) for user in readers)
    return notice


def deliver(channel: Channel, **fields: Any) -> Delivery:
    """A delivery to the channel of such a notice; of the channel's team, unless another is named."""
    notice = make_notice(**{"team": channel.team} | fields)
    return Delivery.objects.create(
        notice=notice, channel=channel, channel_name=channel.name, kind=channel.kind
    )
