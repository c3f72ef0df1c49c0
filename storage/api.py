"""REST: the volumes that jobs can mount."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from rest_framework import serializers

from pools.models import Pool
from storage.models import Volume, VolumeGrant
from storage.serializers import VolumeSerializer
from teams.rest import LARGEST, ListView


class VolumeFilter(serializers.Serializer[Any]):
    pool = serializers.IntegerField(
        required=False, min_value=1, max_value=LARGEST, help_text="Only volumes in the zone of this pool."
    )


class VolumeList(ListView):
    """Volumes granted to the caller's teams."""

    serializer_class = VolumeSerializer
    query = {"GET": VolumeFilter}

    def get_queryset(self) -> QuerySet[Volume]:
        user = self.request.user
        writable = VolumeGrant.objects.filter(
            volume=OuterRef("pk"), team__memberships__user=user.pk, read_only=False
        )
        mine = Volume.objects.filter(pk__in=Volume.objects.for_user(user).order_by().values("pk"))
        if "pool" in self.asked:
            pool = Pool.objects.for_user(user).order_by().filter(pk=self.asked["pool"])
            mine = mine.filter(file_system__zone__in=pool.values("zone"))
        shown: QuerySet[Volume] = mine.annotate(read_only=~Exists(writable))
        return shown.select_related("file_system__zone")
