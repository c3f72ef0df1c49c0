"""Telling of something: its notice, who has it in the list behind the bell, and its deliveries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from alerts.models import Channel, Delivery, Notice, Reading, Rule
from alerts.rules import State, Watch, channels_told


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNotice:
    """Something to tell of. A second one with the same `key` is none.

    `readers` (ids of users) have it behind the bell. `channels` are told besides those whose rules ask for
    one of the `codes`: the ones of timed rules, whose time has come.
    """

    key: str
    codes: tuple[str, ...]
    subject: str
    subject_id: int
    at: datetime
    team: int | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    readers: tuple[int, ...] = ()
    channels: tuple[int, ...] = ()


def notices_post(new: Sequence[NewNotice]) -> int:
    """Writes those that are new, with their readings and deliveries, in the caller's transaction or in one of
    its own; how many were. Whoever else posts the same at the same time writes none of it."""
    with transaction.atomic():
        written = _written(new)
        wanted = _channels_of(written)
        channels = Channel.objects.in_bulk({pk for pks in wanted.values() for pk in pks})
        Reading.objects.bulk_create(
            Reading(notice=notice, user_id=user) for one, notice in written for user in one.readers
        )
        Delivery.objects.bulk_create(
            _delivery(notice, channels[pk])
            for one, notice in written
            for pk in wanted[one.key]
            if pk in channels
        )
    return len(written)


def _written(new: Sequence[NewNotice]) -> list[tuple[NewNotice, Notice]]:
    """The row of each that was not there."""
    rows = []
    for one in new:
        values = {"codes": list(one.codes), "subject": one.subject, "subject_id": one.subject_id}
        values |= {"team_id": one.team, "at": one.at, "data": dict(one.data)}
        notice, made = Notice.objects.get_or_create(key=one.key, defaults=values)
        if made:
            rows.append((one, notice))
    return rows


def _channels_of(written: Sequence[tuple[NewNotice, Notice]]) -> dict[str, list[int]]:
    """By key: the channels to tell, each once."""
    watches: dict[tuple[str, int | None], list[Watch]] = defaultdict(list)
    subjects: dict[str, set[int]] = defaultdict(set)
    for one, _notice in written:
        subjects[one.subject].add(one.subject_id)
    for subject, ids in subjects.items():
        asked = Rule.objects.filter(Q(subject_id__in=ids) | Q(subject_id=None), subject=subject)
        for rule in asked.order_by("pk"):
            watch = Watch(rule.channel_id, tuple(rule.events), rule.minutes)
            watches[subject, rule.subject_id].append(watch)
    return {
        one.key: list(
            dict.fromkeys(
                [
                    *one.channels,
                    *channels_told(
                        [*watches[one.subject, one.subject_id], *watches[one.subject, None]], one.codes
                    ),
                ]
            )
        )
        for one, _notice in written
    }


def _delivery(notice: Notice, channel: Channel) -> Delivery:
    """Of a channel that is disabled only the record is kept."""
    now = timezone.now()
    delivery = Delivery(notice=notice, channel=channel, channel_name=channel.name, kind=channel.kind)
    if channel.disabled_at is None:
        delivery.due_at = now
    else:
        delivery.state, delivery.ended_at = State.DROPPED, now
        delivery.error = {"code": "channel_disabled", "data": {}}
    return delivery
