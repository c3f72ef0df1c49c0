"""REST: what is said about volumes."""

from __future__ import annotations

from rest_framework import serializers

from storage.models import Volume
from teams.serializers import NamedSerializer


class VolumeSerializer(serializers.Serializer[Volume]):
    """Where the volume lies on the machine is not told. `read_only` is annotated."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    file_system = NamedSerializer()
    zone = NamedSerializer(source="file_system.zone")
    default_mount_path = serializers.CharField()
    read_only = serializers.BooleanField(  # type: ignore[assignment]
        help_text="Whether none of your teams may write to it."
    )
