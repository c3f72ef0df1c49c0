"""How channels and notices are found. Everything a person sees goes through `for_user`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import models
from django.db.models import Case, Q, Value, When
from django.db.models.constants import OnConflict

from alerts.rules import Subject
from teams.models import Membership

MOST_INSERTED = 500  # in one statement


def usable(user: Any, team: Any, path: str = "") -> Q:
    """The channels that the user may use for what is the team's: private ones of their own, and those shared
    with the team. One that is shared with another team would carry the team's data there."""
    own = Q(**{f"{path}owner": user, f"{path}team": None})
    return own | Q(**{f"{path}team": team})


class ChannelQuerySet(models.QuerySet[Any]):
    def for_user(self, user: Any) -> ChannelQuerySet:
        """The user's own, and those shared with a team of the user; a stranger finds nothing."""
        teams = Membership.objects.filter(user=user).values("team")
        return self.filter(Q(owner=user) | Q(team__in=teams))


class NoticeQuerySet(models.QuerySet[Any]):
    def insert_new(self, notices: Iterable[Any]) -> dict[str, int]:
        """Writes those whose keys are not there, and answers the ids of these alone, by key. Of several who
        write the same key at the same time one is answered it; the others wait for that one's commit.

        `bulk_create` leaves out what is there just so, but does not tell which it wrote.
        """
        fields = [field for field in self.model._meta.concrete_fields if not field.primary_key]
        returned = [self.model._meta.get_field(name) for name in ("key", "id")]
        new, written = list(notices), dict[str, int]()
        for first in range(0, len(new), MOST_INSERTED):
            batch = new[first : first + MOST_INSERTED]
            rows = self._insert(  # type: ignore[attr-defined]  # what `bulk_create` calls
                batch, fields, returned, using=self.db, on_conflict=OnConflict.IGNORE
            )
            written.update(row for row in rows if row)  # a single one that was there is answered as None
        return written


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
        """With the notices, and `hidden` where the channel is a private one of somebody else, or is deleted:
        nobody knows any more whose it was."""
        teams = Membership.objects.filter(user=user).values("team")
        mine = Q(channel__owner=user) | Q(channel__team__in=teams)
        hidden = Case(When(mine, then=Value(False)), default=Value(True))
        deliveries = self.filter(notice__subject=subject, notice__subject_id=subject_id)
        told: DeliveryQuerySet = deliveries.select_related("notice", "channel").annotate(hidden=hidden)
        return told
