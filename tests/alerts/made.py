"""Channels and rules for tests, and notices that somebody hears of."""

from __future__ import annotations

from datetime import datetime
from itertools import count
from typing import Any

from django.utils import timezone

from alerts.models import Channel, Delivery, Rule
from alerts.rules import Subject
from alerts.services import NewNotice, notices_post
from teams.models import User
from teams.vault import encrypt
from tests.factories import make_user

_numbers = count(1)


def make_channel(owner: User | None = None, *, url: str = "http://127.0.0.1:1/", **fields: Any) -> Channel:
    """A webhook of its owner, who is of no team if none is given."""
    fields = {"name": f"channel {next(_numbers)}", "kind": "webhook", "shown": "http://…"} | fields
    return Channel.objects.create(owner=owner or make_user(), target=encrypt(url), **fields)


def make_rule(
    channel: Channel, subject: Subject, subject_id: int | None, *events: str, **fields: Any
) -> Rule:
    author = channel.owner if subject == Subject.JOB else None
    fields = {"author": author} | fields
    return Rule.objects.create(
        channel=channel, subject=subject, subject_id=subject_id, events=list(events), **fields
    )


def notice(*channels: Channel, code: str = "test", key: str = "", **fields: Any) -> NewNotice:
    """One of a channel, which is told to the given ones."""
    fields = {
        "subject": Subject.CHANNEL,
        "subject_id": channels[0].pk if channels else 0,
        "at": timezone.now(),
        "data": {"name": "n", "actor": "a", "error": {"code": "timeout", "data": {"seconds": 1}}},
    } | fields
    return NewNotice(
        key=key or f"key {next(_numbers)}",
        codes=(code,),
        channels=tuple(channel.pk for channel in channels),
        **fields,
    )


def post(*channels: Channel, code: str = "channel_disabled", **fields: Any) -> list[Delivery]:
    """Posts one notice; its deliveries, in the order of the channels."""
    new = notice(*channels, code=code, **fields)
    assert notices_post([new]) == 1
    return list(Delivery.objects.filter(notice__key=new.key).order_by("pk"))


def due(*deliveries: Delivery, at: datetime | None = None) -> None:
    """Lets the pause until their next try be over."""
    moment = at or timezone.now()
    Delivery.objects.filter(pk__in=[one.pk for one in deliveries]).update(due_at=moment)
