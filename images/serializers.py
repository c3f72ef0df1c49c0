"""REST: what is said about images."""

from __future__ import annotations

from rest_framework import serializers

from images.models import SERVICES, Image
from teams.serializers import NamedSerializer


class ImageSerializer(serializers.Serializer[Image]):
    id = serializers.IntegerField()
    reference = serializers.CharField()
    kind = serializers.ChoiceField(choices=["preset", "custom"])
    services = serializers.ListField(child=serializers.ChoiceField(choices=SERVICES))
    zones = NamedSerializer(many=True)
