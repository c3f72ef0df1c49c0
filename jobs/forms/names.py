"""What something is called that is not on offer any more: asked only where it has to be told."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import Q, QuerySet

from alerts.models import Channel
from images.models import Image
from jobs.forms.laid_aside import Aside
from pools.models import Flavor, Pool, WorkerSpec
from storage.models import Volume, VolumeGrant
from teams.models import User

Known = Mapping[tuple[str, int], Aside]
RETIRABLE: Mapping[str, QuerySet[Any]] = {
    "pool": Pool.objects.all(),
    "spec": WorkerSpec.objects.all(),
    "image": Image.objects.all(),
    "mounts": Volume.objects.all(),
}


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

    def channels(self, pks: Collection[int]) -> dict[int, str]:
        """Alert channels."""
        mine = Channel.objects.for_user(self._user).filter(pk__in=pks).order_by()
        names = dict(mine.values_list("pk", "name")) if pks else {}
        return {pk: names.get(pk, f"#{pk}") for pk in pks}

    def retired(self, *ones: Aside) -> list[Aside]:
        """Those of one field that are not on offer for that; it is not told of what has no name for the
        user."""
        named = {
            int(one.value): one for one in ones if one.field in RETIRABLE and one.name != f"#{one.value}"
        }
        if not named:
            return []
        rows = RETIRABLE[ones[0].field].filter(pk__in=named, retired_at__isnull=False)
        return [named[pk] for pk in rows.values_list("pk", flat=True)]

    def _told(self, field: str, pk: int, rows: Any) -> Aside:
        if (field, pk) in self._known:
            return self._known[field, pk]
        return Aside(field, str(pk), *map(str, rows.first() or (f"#{pk}",)))
