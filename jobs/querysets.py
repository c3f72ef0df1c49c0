"""How jobs are found. Everything a person sees goes through `for_user`."""

from __future__ import annotations

from typing import Any

from django.db import models

from jobs.states import LIVE, PLACED, State


class JobQuerySet(models.QuerySet[Any]):
    def for_user(self, user: Any) -> JobQuerySet:
        """The jobs of the user's teams; a stranger finds nothing."""
        return self.filter(team__memberships__user=user)

    def waiting(self) -> JobQuerySet:
        return self.filter(state=State.QUEUED)

    def live(self) -> JobQuerySet:
        return self.filter(state__in=LIVE)

    def placed(self) -> JobQuerySet:
        """Jobs that hold GPUs."""
        return self.filter(state__in=PLACED)
