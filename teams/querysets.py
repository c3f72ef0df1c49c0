"""How teams are found."""

from __future__ import annotations

from typing import Any

from django.db import models


class TeamQuerySet(models.QuerySet[Any]):
    def for_user(self, user: Any) -> TeamQuerySet:
        """The teams that the user is a member of."""
        return self.filter(memberships__user=user)
