"""How pools and nodes are found."""

from __future__ import annotations

from typing import Any

from django.db import models


class PoolQuerySet(models.QuerySet[Any]):
    def for_user(self, user: Any, team: Any = None) -> PoolQuerySet:
        """The pools granted to a team of the user, or to that one of them, retired ones left out."""
        pools = self.filter(retired_at=None, grants__team__memberships__user=user).distinct()
        return pools.filter(grants__team=team) if team else pools


class NodeQuerySet(models.QuerySet[Any]):
    def landing(self, flavor_id: int, gpus: int, most: int) -> NodeQuerySet:
        """The nodes on which best fit would put the next `most` Workers of `gpus` GPUs, in that order.

        Reads at most `most` rows of the index, whatever the pool's size.
        """
        return self.filter(flavor_id=flavor_id, schedulable=True, idle__gte=gpus).order_by("idle", "name")[
            :most
        ]
