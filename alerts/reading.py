"""Channels with what lists and pages show of them."""

from __future__ import annotations

from typing import Any

from django.db.models import JSONField, OuterRef, QuerySet, Subquery

from alerts.models import Channel, Delivery
from alerts.rules import State


def channels_read(user: Any) -> QuerySet[Channel]:
    """Those that the user may use, with owner, team, and as `refused_last` what a receiver refused last."""
    refused = Delivery.objects.filter(channel=OuterRef("pk"), state=State.REFUSED)
    last = Subquery(refused.order_by("-pk").values("error")[:1], output_field=JSONField())
    channels: QuerySet[Channel] = Channel.objects.for_user(user).select_related("owner", "team")
    return channels.annotate(refused_last=last)
