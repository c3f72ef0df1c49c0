"""REST: the images that jobs can run in."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers

from images.models import SERVICES, Image
from images.serializers import ImageSerializer
from pools.models import Pool
from teams.rest import LARGEST, ListView


class ImageFilter(serializers.Serializer[Any]):
    pool = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=LARGEST,
        help_text="Only images that lie in the zone of this pool, and that it can run.",
    )
    service = serializers.ChoiceField(
        required=False, choices=SERVICES, help_text="Only images that this service is available for."
    )


class ImageList(ListView):
    """Preset images, and custom ones of the caller's teams."""

    serializer_class = ImageSerializer
    query = {"GET": ImageFilter}

    def get_queryset(self) -> QuerySet[Image]:
        user = self.request.user
        images: QuerySet[Image] = Image.objects.filter(
            pk__in=Image.objects.for_user(user).order_by().values("pk")
        )
        if "pool" in self.asked:
            images = _for_pool(images, Pool.objects.for_user(user).filter(pk=self.asked["pool"]).first())
        if "service" in self.asked:
            images = images.filter(pk__in=_offered_for(images, self.asked["service"]))
        return images.prefetch_related("zones")


def _for_pool(images: QuerySet[Image], pool: Pool | None) -> QuerySet[Image]:
    if pool is None:
        return images.none()
    images = images.filter(zones=pool.zone_id)
    return images.filter(reference__in=pool.images) if pool.images else images


def _offered_for(images: QuerySet[Image], service: str) -> list[int]:
    """Decided here, since SQLite cannot ask whether a JSON list contains a value."""
    return [pk for pk, services in images.values_list("pk", "services") if service in services]
