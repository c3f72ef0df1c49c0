"""How path checks and captures are found."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q

from runs.states import OPEN, CheckState


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


class StackCaptureQuerySet(models.QuerySet[Any]):
    def of_job(self, job: Any) -> StackCaptureQuerySet:
        """Those of all attempts of a job, without what they found."""
        return self.filter(attempt__job=job).select_related("attempt", "asked_by").defer("result")

    def due(self, claimed_before: Any) -> StackCaptureQuerySet:
        """Those that nobody has taken, and that nobody is about to take since that moment."""
        pending = self.filter(state=CheckState.PENDING)
        return pending.filter(Q(claimed_at=None) | Q(claimed_at__lt=claimed_before))
