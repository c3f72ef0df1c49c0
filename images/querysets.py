"""How images are found."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q


class ImageQuerySet(models.QuerySet[Any]):
    def for_user(self, user: Any, team: Any = None) -> ImageQuerySet:
        """Preset images, and custom ones of the user's teams or of one of them; retired ones left out."""
        images = self.filter(Q(team=None) | Q(team__memberships__user=user), retired_at=None).distinct()
        return images.filter(Q(team=None) | Q(team=team)) if team else images

    def for_team(self, team_id: int) -> ImageQuerySet:
        return self.filter(Q(team=None) | Q(team_id=team_id), retired_at=None)
