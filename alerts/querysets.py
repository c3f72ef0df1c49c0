"""How channels and notices are found. Everything a person sees goes through `for_user`."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Case, Q, Value, When

from alerts.rules import Subject
from teams.models import Membership


class ChannelQuerySet(models.QuerySet[Any]):
    def for_user(self, user: Any) -> ChannelQuerySet:
        """The user's own, and those shared with a team of the user; a stranger finds nothing."""
        teams = Membership.objects.filter(user=user).values("team")
        return self.filter(Q(owner=user) | Q(team__in=teams))


class NoticeQuerySet(models.QuerySet[Any]):
    def for_user(self, user: Any) -> NoticeQuerySet:
        """Those in the list behind the user's bell."""
        return self.filter(readings__user=user)


class DeliveryQuerySet(models.QuerySet[Any]):
    def for_user(self, user: Any) -> DeliveryQuerySet:
        """Those of which the user may know: to a shared channel its owner may send what is none of the team
        mates' business."""
        teams = Membership.objects.filter(user=user).values("team")
        known = Q(notice__team__in=teams)
        owned = Q(notice__team=None, channel__owner=user)
        tests = Q(notice__subject=Subject.CHANNEL, channel__team__in=teams)
        return self.filter(known | owned | tests)

    def of_subject(self, subject: str, subject_id: int, user: Any) -> DeliveryQuerySet:
        """With the notices, and `hidden` where the channel is a private one of somebody else."""
        teams = Membership.objects.filter(user=user).values("team")
        mine = Q(channel=None) | Q(channel__owner=user) | Q(channel__team__in=teams)
        hidden = Case(When(mine, then=Value(False)), default=Value(True))
        deliveries = self.filter(notice__subject=subject, notice__subject_id=subject_id)
        told: DeliveryQuerySet = deliveries.select_related("notice").annotate(hidden=hidden)
        return told
