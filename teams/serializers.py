"""REST: what is said about people and teams."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from teams.rest import StrictSerializer, StrictStringField
from teams.roles import Role


class NamedSerializer(serializers.Serializer[Any]):
    """A reference in an answer. In a request, the id alone stands for it."""

    id = serializers.IntegerField()
    name = serializers.CharField()


class TokenRequestSerializer(StrictSerializer):
    server_owned = frozenset({"token", "expires_at"})

    username = StrictStringField(max_length=150)
    password = StrictStringField(max_length=1000)
    name = StrictStringField(max_length=80, default="default")


class TokenSerializer(serializers.Serializer[Any]):
    token = serializers.CharField()
    expires_at = serializers.DateTimeField()


class MembershipSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="team.pk")
    name = serializers.CharField(source="team.name")
    role = serializers.ChoiceField(choices=[(role.value, role.value) for role in Role])
    may_use_high_priority = serializers.BooleanField()


class MeSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    username = serializers.CharField()
    name = serializers.CharField()
    is_staff = serializers.BooleanField()
    teams = MembershipSerializer(many=True)
