"""How channels and notices are found. Everything a person sees goes through `for_user`."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q


class ChannelQuerySet(models.QuerySet[Any]):
    def for_user(self, user: Any) -> ChannelQuerySet:
        """The user's own, and those shared with a team of the user; a stranger finds nothing."""
        return self.filter(Q(owner=user) | Q(team__memberships__user=user)).distinct()


class NoticeQuerySet(models.QuerySet[Any]):
    def for_user(self, user: Any) -> NoticeQuerySet:
        """Those in the list behind the user's bell."""
        return self.filter(readings__user=user)
