"""How volumes are found."""

from __future__ import annotations

from typing import Any

from django.db import models


class VolumeQuerySet(models.QuerySet[Any]):
    def for_user(self, user: Any) -> VolumeQuerySet:
        """The volumes granted to a team of the user, retired ones left out."""
        return self.filter(retired_at=None, grants__team__memberships__user=user).distinct()
