"""Sending once more what did not arrive, and enabling a channel by hand: after what was wrong is mended."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils import timezone

from alerts.models import Channel, Delivery
from alerts.rules import TEST, State

WITHIN = timedelta(days=1)  # older news is none
NOT_ARRIVED = (State.REFUSED, State.GIVEN_UP, State.DROPPED)


def repeatable(delivery: Delivery, now: datetime) -> bool:
    """Whether it may be sent again: it did not arrive, ended within the last day, and its channel is enabled.
    A test is pressed again instead."""
    channel, ended_at = delivery.channel, delivery.ended_at
    if channel is None or channel.disabled_at is not None or ended_at is None:
        return False
    return delivery.state in NOT_ARRIVED and ended_at >= now - WITHIN and delivery.notice.code != TEST


def delivery_repeat(*, delivery: Delivery) -> bool:
    """Makes the same delivery due again, with all its tries; False if it may not be sent again, or somebody
    did this since it was read."""
    now = timezone.now()
    if not repeatable(delivery, now):
        return False
    seen = Delivery.objects.filter(pk=delivery.pk, state=delivery.state, ended_at=delivery.ended_at)
    again = {"state": State.WAITING, "tries": 0, "due_at": now, "error": None, "ended_at": None}
    return bool(seen.filter(channel__disabled_at=None).update(**again))


def channel_enable(*, channel: Channel) -> None:
    """Sends to it again from now on; what was dropped meanwhile stays so until it is sent again."""
    Channel.objects.filter(pk=channel.pk).update(disabled_at=None, refusals=0)
