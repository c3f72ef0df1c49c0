"""What a request names and was retired: asked for only where something that it names is not to be had."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from django.db.models import Q

from images.models import Image
from jobs.facts import PoolFacts
from jobs.spec import JobSpec
from pools.models import Pool, WorkerSpec
from storage.models import VolumeGrant

Retired = Mapping[tuple[str, int], str]


def retired_read(
    spec: JobSpec, team_id: int, pool: PoolFacts | None, *, image: bool, volumes: Collection[int]
) -> Retired:
    """By field and id the names of those that the team could use before. `pool`, `image` (whether it was
    found) and `volumes` are what it can use now."""
    found: dict[tuple[str, int], str] = {}
    if spec.pool is not None and pool is None:
        granted = Pool.objects.filter(pk=spec.pool, grants__team=team_id, retired_at__isnull=False)
        _add(found, ("pool", spec.pool), granted.values_list("name", flat=True))
    if spec.spec is not None and pool is not None and spec.spec not in pool.specs:
        of_pool = WorkerSpec.objects.filter(pk=spec.spec, flavor__pool=pool.id, retired_at__isnull=False)
        _add(found, ("spec", spec.spec), of_pool.values_list("name", flat=True))
    if spec.image is not None and not image:
        visible = Q(team=None) | Q(team=team_id)
        images = Image.objects.filter(visible, pk=spec.image, retired_at__isnull=False)
        _add(found, ("image", spec.image), images.values_list("reference", flat=True))
    if missing := {mount.volume for mount in spec.mounts} - set(volumes):
        grants = VolumeGrant.objects.filter(
            team=team_id, volume__in=missing, volume__retired_at__isnull=False
        )
        found |= {("volume", pk): name for pk, name in grants.values_list("volume", "volume__name")}
    return found


def _add(found: dict[tuple[str, int], str], key: tuple[str, int], names: Iterable[str]) -> None:
    for name in names:
        found[key] = name
