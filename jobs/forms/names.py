"""What something is called that is not on offer any more: asked only where it has to be told."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import Q

from images.models import Image
from jobs.forms.laid_aside import Aside
from pools.models import Flavor, Pool, WorkerSpec
from storage.models import VolumeGrant
from teams.models import User

Known = Mapping[tuple[str, int], Aside]


class Names:
    """Of what the user may see, retired or not, and of what is `known` from elsewhere, by field and id; of
    everything else the number."""

    def __init__(self, user: User, known: Known | None = None) -> None:
        self._user = user
        self._known = known or {}
        self._of_pool = Q(pool__grants__team__memberships__user=user)

    def pool(self, pk: int) -> Aside:
        mine = Pool.objects.filter(pk=pk, grants__team__memberships__user=self._user)
        return self._told("pool", pk, mine.values_list("name"))

    def spec(self, pk: int) -> Aside:
        mine = Q(flavor__pool__grants__team__memberships__user=self._user)
        return self._told("spec", pk, WorkerSpec.objects.filter(mine, pk=pk).values_list("name", "gpus"))

    def one(self, field: str, pk: int) -> Aside:
        """A flavor or an image."""
        if field == "flavor":
            return self._told(field, pk, Flavor.objects.filter(self._of_pool, pk=pk).values_list("name"))
        mine = Q(team=None) | Q(team__memberships__user=self._user)
        return self._told(field, pk, Image.objects.filter(mine, pk=pk).values_list("reference"))

    def volumes(self, pks: Collection[int]) -> dict[int, str]:
        names = {pk: self._known[key].name for pk in pks if (key := ("mounts", pk)) in self._known}
        if missing := set(pks) - names.keys():
            grants = VolumeGrant.objects.filter(volume__in=missing, team__memberships__user=self._user)
            found = grants.values_list("volume", "volume__file_system__name", "volume__name")
            names |= {pk: f"{file_system} / {name}" for pk, file_system, name in found}
        return {pk: names.get(pk, f"#{pk}") for pk in pks}

    def _told(self, field: str, pk: int, rows: Any) -> Aside:
        if (field, pk) in self._known:
            return self._known[field, pk]
        return Aside(field, str(pk), *map(str, rows.first() or (f"#{pk}",)))
