"""How path checks are found."""

from __future__ import annotations

from typing import Any

from django.db import models

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
        running, kept = self.filter(settled=False), self.filter(kept_until__lte=now)
        # One after the other: an index of a part, as that of `settled`, is of no use within OR.
        return self.filter(pk__in=running.order_by().values("pk").union(kept.order_by().values("pk")))
