"""How path checks are found."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q

from runs.states import OPEN


class PathCheckQuerySet(models.QuerySet[Any]):
    def for_user(self, user: Any) -> PathCheckQuerySet:
        """A person's own, of teams to which they still belong."""
        return self.filter(user=user, team__memberships__user=user)

    def open(self) -> PathCheckQuerySet:
        """Those that have no answer yet."""
        return self.filter(state__in=OPEN)

    def due(self, now: Any) -> PathCheckQuerySet:
        """Those of which something may still run, and those that have been kept for long enough."""
        return self.filter(Q(settled=False) | Q(kept_until__lte=now))
