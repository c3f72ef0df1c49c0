"""How pools and nodes are found."""

from __future__ import annotations

from typing import Any

from django.db import models


class PoolQuerySet(models.QuerySet[Any]):
    def for_user(self, user: Any) -> PoolQuerySet:
        """The pools granted to a team of the user, retired ones left out."""
        return self.filter(retired_at=None, grants__team__memberships__user=user).distinct()


class NodeQuerySet(models.QuerySet[Any]):
    def landing(self, flavor_id: int, gpus: int, most: int) -> NodeQuerySet:
        """The nodes on which best fit would put the next `most` Workers of `gpus` GPUs, in that order.

        Reads at most `most` rows of the index, whatever the pool's size.
        """
        return self.filter(flavor_id=flavor_id, schedulable=True, idle__gte=gpus).order_by("idle", "name")[
            :most
        ]
