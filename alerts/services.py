"""Telling of something: its notice, who has it in the list behind the bell, and its deliveries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from alerts.models import Channel, Delivery, Notice, Reading, Rule
from alerts.rules import CHANNEL_DISABLED, TEST, State, Subject, Watch, channels_told


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
    """Writes those that are new and that somebody hears of, with their readings and deliveries, in the
    caller's transaction or in one of its own; how many were. Whoever else posts the same at the same time
    writes none of it. One that is there gets the deliveries to its `channels` that it does not have: somebody
    may have asked for them since."""
    wanted = _channels_of(new)
    heard = {one.key: one for one in new if one.readers or wanted[one.key]}
    with transaction.atomic():
        # In one order, whoever posts: two who wait for each other's keys would wait for ever.
        rows = Notice.objects.insert_new(_row(heard[key]) for key in sorted(heard))
        channels = Channel.objects.in_bulk({pk for key in rows for pk in wanted[key]})
        Reading.objects.bulk_create(
            Reading(notice_id=pk, user_id=user)
            for key, pk in rows.items()
            for user in dict.fromkeys(heard[key].readers)
        )
        Delivery.objects.bulk_create(
            _delivery(heard[key], notice, channels[pk])
            for key, notice in rows.items()
            for pk in wanted[key]
            if pk in channels
        )
        _add({key: one for key, one in heard.items() if one.channels and key not in rows})
    return len(rows)


def rules_of(subject: str, ids: Collection[int]) -> QuerySet[Rule]:
    """The rules that watch these, and those that watch all such, with their channels, in their order."""
    rules = Rule.objects.filter(Q(subject_id__in=ids) | Q(subject_id=None), subject=subject)
    with_channels = rules.select_related("channel").defer("channel__target", "channel__secret")
    return with_channels.order_by("pk")


def rule_may_tell(rule: Rule, team: int | None) -> bool:
    """Whether the rule still may tell of what is the team's. A channel may be shared otherwise than it was
    when somebody chose it for a job: a private one tells what its owner asked for, a shared one what its
    team's jobs do."""
    channel = rule.channel
    if rule.subject != Subject.JOB:
        return True
    return rule.author_id == channel.owner_id if channel.team_id is None else channel.team_id == team


def _add(late: Mapping[str, NewNotice]) -> None:
    if not late:
        return
    channels = Channel.objects.in_bulk({pk for one in late.values() for pk in one.channels})
    notices = Notice.objects.filter(key__in=late).order_by("pk").values_list("key", "pk")
    deliveries = [
        _delivery(late[key], notice, channels[pk])
        for key, notice in notices
        for pk in late[key].channels
        if pk in channels
    ]
    Delivery.objects.bulk_create(deliveries, ignore_conflicts=True)


def _row(one: NewNotice) -> Notice:
    return Notice(
        key=one.key,
        codes=list(one.codes),
        subject=one.subject,
        subject_id=one.subject_id,
        team_id=one.team,
        at=one.at,
        data=dict(one.data),
    )


def _channels_of(new: Sequence[NewNotice]) -> dict[str, list[int]]:
    """By key: the channels to tell, each once."""
    watches: dict[tuple[str, int | None], list[Watch]] = defaultdict(list)
    subjects: dict[str, set[int]] = defaultdict(set)
    for one in new:
        subjects[one.subject].add(one.subject_id)
    teams: dict[tuple[str, int | None], int | None] = {(one.subject, one.subject_id): one.team for one in new}
    for subject, ids in subjects.items():
        for rule in rules_of(subject, ids):
            if rule_may_tell(rule, teams.get((subject, rule.subject_id))):
                watch = Watch(rule.channel_id, tuple(rule.events), rule.minutes)
                watches[subject, rule.subject_id].append(watch)
    channels = {}
    for one in new:
        asked = [*watches[one.subject, one.subject_id], *watches[one.subject, None]]
        channels[one.key] = list(dict.fromkeys([*one.channels, *channels_told(asked, one.codes)]))
    return channels


def _delivery(one: NewNotice, notice: int, channel: Channel) -> Delivery:
    """Of a channel that is disabled only the record is kept, but for a test, which may enable it again."""
    now = timezone.now()
    delivery = Delivery(notice_id=notice, channel=channel, channel_name=channel.name, kind=channel.kind)
    if channel.disabled_at is None or TEST in one.codes:
        delivery.due_at = now
    else:
        delivery.state, delivery.ended_at = State.DROPPED, now
        delivery.error = {"code": CHANNEL_DISABLED, "data": {}}
    return delivery
