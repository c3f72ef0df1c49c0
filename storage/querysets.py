"""How volumes are found, and who may mount them."""

from __future__ import annotations

from typing import Any

from django.db import models


class VolumeQuerySet(models.QuerySet[Any]):
    def for_user(self, user: Any) -> VolumeQuerySet:
        """The volumes granted to a team of the user, retired ones left out."""
        return self.filter(retired_at=None, grants__team__memberships__user=user).distinct()


class VolumeGrantQuerySet(models.QuerySet[Any]):
    def for_user(self, user: Any, team: Any = None) -> VolumeGrantQuerySet:
        """What the user's teams may mount, or one of them; retired volumes left out."""
        grants = self.filter(volume__retired_at=None, team__memberships__user=user)
        return grants.filter(team=team) if team else grants
