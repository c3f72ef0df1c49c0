"""Channels with what lists and pages show of them."""

from __future__ import annotations

from typing import Any

from django.db.models import Case, JSONField, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce

from alerts.models import Channel, Delivery
from alerts.rules import State

MOST_WALKED = 200  # deliveries of a channel, to the newest of which somebody may know


def channels_read(user: Any) -> QuerySet[Channel]:
    """Those that the user may use, with owner, team, and of a disabled one as `refused_last` what its
    receiver refused last."""
    refused = Delivery.objects.filter(channel=OuterRef("pk"), state=State.REFUSED)
    last = Subquery(refused.order_by("-pk").values("error")[:1], output_field=JSONField())
    disabled = Case(When(disabled_at__isnull=False, then=last), default=None, output_field=JSONField())
    channels: QuerySet[Channel] = Channel.objects.for_user(user).select_related("owner", "team")
    return channels.annotate(refused_last=disabled)


def newest_deliveries(user: Any, channels: QuerySet[Channel]) -> dict[int, Delivery]:
    """By channel: the last of its deliveries that the user may know of, with its notice. Where the latest
    many are all none of the user's business, none is."""
    found = dict(channels.order_by().values_list("pk", newest(Delivery.objects.for_user(user))))
    deliveries = Delivery.objects.select_related("notice").in_bulk([pk for pk in found.values() if pk])
    return {channel: deliveries[pk] for channel, pk in found.items() if pk in deliveries}


def newest(known: QuerySet[Delivery], value: str = "pk") -> Subquery:
    """Of a channel, a value of the last of these deliveries. From the end of the channel's part of the index
    to a floor.

    A range of one channel and an order by it say the same as `=` and an order by id alone would, but for
    these the database may walk the ids of all channels, and of a quiet one that is the whole table.
    """
    end = Delivery.objects.filter(_only(OuterRef(OuterRef("pk")))).order_by("channel_id", "-pk").values("pk")
    floor = Coalesce(Subquery(end[MOST_WALKED - 1 : MOST_WALKED]), 0)
    here = known.filter(_only(OuterRef("pk")), pk__gte=floor).order_by("channel_id", "-pk")
    return Subquery(here.values(value)[:1])


def _only(channel: OuterRef) -> Q:
    return Q(channel__gte=channel, channel__lte=channel)
