"""Brings deliveries to their channels: claimed, sent outside of any transaction, and what came of it kept.

A claim compares and swaps the channel's and the delivery's moments in one transaction. So one at a time sends
to a channel, a dead channel costs the others at most one thread, and who was killed has lost the claim when
its lease ends: only then may something be sent once more that had arrived already.
"""

from __future__ import annotations

import logging
import time
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone, translation

from alerts.models import Channel, Delivery, Notice
from alerts.rules import CHANNEL_DISABLED, MOST_REFUSALS, TEST, State, Subject, pause_after
from alerts.senders import Later, Outcome, Refused, Sent, send
from alerts.services import NewNotice, notices_post
from alerts.subjects import told
from teams.models import Membership, User

logger = logging.getLogger(__name__)

MOST_SENT, LONGEST_S = 100, 20.0  # by one task
MOST_AT_ONCE = 2  # channels of one owner that are sent to: a few dead ones must not take every sender
MOST_CLAIMS = 10  # tries to be the one who sends, where several want to
MOST_DROPPED = 500
LONGEST_PAUSE = timedelta(hours=1)  # whatever a receiver asks for
OWNER_LEFT, SHARED_ELSEWHERE = "owner_left", "shared_elsewhere"


class Claimed(NamedTuple):
    """A delivery as it is during the claim, whose lease ends at its `due_at`, and where it goes."""

    delivery: Delivery
    channel: Channel

    @property
    def notice(self) -> Notice:
        return self.delivery.notice


def deliveries_send() -> int:
    """Sends what is due, one after the other; how many were tried. To be called by several at once."""
    _drop_lost()
    begun, tried = time.monotonic(), 0
    while tried < MOST_SENT and time.monotonic() - begun < LONGEST_S:
        claimed = delivery_claim()
        if claimed is None:
            break
        _try_alone(claimed)
        tried += 1
    return tried


def _try_alone(claimed: Claimed) -> None:
    """An error of ours with one delivery keeps no other from being sent, nor this one from an end."""
    try:
        delivery_try(claimed)
    except Exception:
        logger.exception("delivery %s: cannot be settled", claimed.delivery.pk)
        _keep(claimed, Later("internal", {}))


def delivery_claim() -> Claimed | None:
    """One that is due and that the caller alone has to send until its `due_at`; None if there is none. The
    channel that was served longest ago comes first, and in it what was tried least."""
    for _ in range(MOST_CLAIMS):
        now = timezone.now()
        free = Q(channel__busy_until=None) | Q(channel__busy_until__lte=now)
        due = Delivery.objects.filter(free, state=State.WAITING, due_at__lte=now, channel__isnull=False)
        due = due.exclude(channel__owner__in=_served(now))
        order = (F("channel__busy_until").asc(nulls_first=True), "tries", "due_at", "pk")
        seen = due.select_related("channel").order_by(*order).first()
        if seen is None or seen.channel is None:
            return None
        if _claim(seen, seen.channel, now + timedelta(seconds=settings.ALERT_LEASE_SECONDS)):
            delivery = Delivery.objects.select_related("notice__team", "channel__owner").get(pk=seen.pk)
            if delivery.channel is not None:
                return Claimed(delivery, delivery.channel)
    return None


def _served(now: datetime) -> QuerySet[Any]:
    """The owners to whose channels enough is being sent at this moment."""
    owners = Channel.objects.filter(busy_until__gt=now).order_by().values("owner")
    enough: QuerySet[Any] = owners.annotate(busy=Count("pk")).filter(busy__gte=MOST_AT_ONCE)
    return enough.values("owner")


def _claim(seen: Delivery, to: Channel, lease: datetime) -> bool:
    channel = Channel.objects.filter(pk=to.pk, busy_until=to.busy_until)
    delivery = Delivery.objects.filter(pk=seen.pk, state=State.WAITING, due_at=seen.due_at)
    with transaction.atomic():
        mine = channel.update(busy_until=lease) and delivery.update(due_at=lease, tries=F("tries") + 1)
        if not mine:
            transaction.set_rollback(True)
    return bool(mine)


def delivery_try(claimed: Claimed) -> None:
    """Sends it, and keeps what came of it if the claim still holds by then."""
    if obstacle := _obstacle(claimed):
        _settle(claimed, State.DROPPED, {"code": obstacle, "data": {}})
        return
    answer = _answer(claimed)
    if isinstance(answer, Sent):
        _settle(claimed, State.SENT, None)
        return
    _keep(claimed, answer)


def _keep(claimed: Claimed, answer: Refused | Later) -> None:
    error = {"code": answer.code, "data": dict(answer.data)}
    pause = None if isinstance(answer, Refused) else _pause(claimed, answer)
    if pause is not None:
        _settle(claimed, State.WAITING, error, timezone.now() + pause)
    else:
        _settle(claimed, State.REFUSED if isinstance(answer, Refused) else State.GIVEN_UP, error)


def _obstacle(claimed: Claimed) -> str:
    """Why it is not to be sent at all; empty if it is. A shared channel is the team's: what is another team's
    does not go there, also where a rule is older than the sharing."""
    channel, notice = claimed.channel, claimed.notice
    if channel.disabled_at is not None and notice.code != TEST:
        return CHANNEL_DISABLED
    if channel.team_id is not None:
        return "" if notice.team_id in (None, channel.team_id) else SHARED_ELSEWHERE
    return "" if _may_know(channel.owner, notice) else OWNER_LEFT


def _may_know(owner: User, notice: Notice) -> bool:
    """What the owner of a private channel asked for may be none of their business any more."""
    if not owner.is_active:
        return False
    if notice.team_id is not None:
        return Membership.objects.filter(user=owner, team=notice.team_id).exists()
    return owner.is_staff or notice.subject == Subject.CHANNEL


def _answer(claimed: Claimed) -> Outcome:
    channel, notice = claimed.channel, claimed.notice
    try:
        with translation.override(channel.speaks):
            return send(channel, notice, told(notice, log=channel.with_log))
    except Exception:  # an error of ours, which must not keep the others from being sent
        logger.exception("delivery %s: sending failed", claimed.delivery.pk)
        return Later("internal", {})


def _pause(claimed: Claimed, answer: Later) -> timedelta | None:
    """Until the next try: longer where the receiver asks for that; None: it is given up."""
    age = timezone.now() - claimed.notice.at
    pause = pause_after(claimed.delivery.tries, claimed.notice.code, age)
    asked = answer.data.get("after")
    if pause is None or not isinstance(asked, int | float):
        return pause
    return max(pause, min(timedelta(seconds=asked), LONGEST_PAUSE))


def _settle(
    claimed: Claimed, state: State, error: dict[str, Any] | None, due_at: datetime | None = None
) -> None:
    now, lease = timezone.now(), claimed.delivery.due_at
    ended_at = None if state == State.WAITING else now
    with transaction.atomic():
        channel = Channel.objects.filter(pk=claimed.channel.pk)
        channel.select_for_update(no_key=True).first()  # before any delivery, also where the lease is lost
        channel.filter(busy_until=lease).update(busy_until=now)
        mine = Delivery.objects.filter(pk=claimed.delivery.pk, state=State.WAITING, due_at=lease)
        if not mine.update(state=state, error=error, due_at=due_at, ended_at=ended_at):
            return
        if claimed.notice.code == TEST:  # whoever tries something out neither disables nor excuses it
            if state == State.SENT:
                channel.exclude(disabled_at=None).update(disabled_at=None, refusals=0)
        elif state == State.SENT:
            channel.exclude(refusals=0).update(refusals=0)
        elif state == State.REFUSED:
            _refused(claimed, error or {}, now)


def _refused(claimed: Claimed, error: dict[str, Any], now: datetime) -> None:
    """Counts it. After too many in a row the channel is disabled: its owner hears of it behind the bell."""
    pk = claimed.channel.pk
    channel = Channel.objects.filter(pk=pk)
    channel.update(refusals=F("refusals") + 1)
    if not channel.filter(disabled_at=None, refusals__gte=MOST_REFUSALS).update(disabled_at=now):
        return
    unsent = MOST_REFUSALS + _drop(Q(channel=pk), CHANNEL_DISABLED)
    notice = NewNotice(
        key=f"channel:{pk}:disabled:{now.isoformat()}",
        codes=(CHANNEL_DISABLED,),
        subject=Subject.CHANNEL,
        subject_id=pk,
        at=now,
        data={"name": claimed.channel.name, "kind": claimed.channel.kind, "error": error, "unsent": unsent},
        readers=(claimed.channel.owner_id,),
    )
    notices_post([notice])


def _drop_lost() -> None:
    """What was on its way to channels that are deleted."""
    lost = Delivery.objects.filter(state=State.WAITING, channel=None).values_list("pk", flat=True)
    if found := list(lost[:MOST_DROPPED]):
        _drop(Q(pk__in=found), "channel_deleted")


def _drop(which: Q, code: str) -> int:
    """How many were."""
    error = {"code": code, "data": {}}
    waiting = Delivery.objects.filter(which, state=State.WAITING)
    return waiting.update(state=State.DROPPED, due_at=None, ended_at=timezone.now(), error=error)
