"""REST: channels, deliveries and rules, as they are asked for and as they are answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import exceptions, serializers

from alerts.channels import LONGEST_NAME, LONGEST_SECRET, may_change
from alerts.models import Channel, Delivery, Rule
from alerts.refusals import refusal_text
from alerts.rules import MACHINE_EVENTS, POOL_EVENTS, Kind, State, Subject
from alerts.standing import OF_ADMINS
from alerts.texts import error_text
from teams.rest import StrictBooleanField, StrictIntegerField, StrictSerializer, StrictStringField
from teams.serializers import NamedSerializer

LONGEST_URL = 2000
LONGEST_ADDRESS = 254
LANGUAGES = [code for code, _name in settings.LANGUAGES]
ADMIN_EVENTS = [*POOL_EVENTS, *MACHINE_EVENTS]


def refused(code: str, data: Mapping[str, Any] | None = None) -> exceptions.ErrorDetail:
    """The error of a field, in the words of the pages."""
    return exceptions.ErrorDetail(refusal_text(code, data or {}), code=code)


class ChannelChangeSerializer(StrictSerializer):
    """The body of `PATCH alert-channels/{id}/`. A new address or secret enables a disabled channel again."""

    server_owned = frozenset(
        {
            *("id", "owner", "may_change", "target", "has_secret", "disabled_at", "disabled_reason"),
            "created_at",
        }
    )

    name = StrictStringField(max_length=LONGEST_NAME, required=False)
    url = StrictStringField(
        max_length=LONGEST_URL, required=False, help_text="Where to post to; of all kinds but `email`."
    )
    address = StrictStringField(max_length=LONGEST_ADDRESS, required=False, help_text="Of the kind `email`.")
    secret = StrictStringField(
        max_length=LONGEST_SECRET,
        required=False,
        allow_null=True,
        help_text="What notices are signed with; of `webhook`, `feishu` and `dingtalk`. Null: none.",
    )
    shared = StrictBooleanField(required=False, help_text="Whether the members of a team may use it.")
    team = StrictIntegerField(required=False, help_text="With which; by default the only one of the caller.")
    language = serializers.ChoiceField(
        choices=LANGUAGES, required=False, allow_null=True, help_text="Null: as its owner chose."
    )
    with_log = StrictBooleanField(required=False, help_text="With the last 20 lines of output.")

    def _refusal(self, name: str, known: Sequence[str]) -> exceptions.ErrorDetail:
        return refused("fixed") if name == "kind" else super()._refusal(name, known)


class ChannelRequestSerializer(ChannelChangeSerializer):
    """The body of `POST alert-channels/`."""

    name = StrictStringField(max_length=LONGEST_NAME)
    kind = serializers.ChoiceField(choices=[str(kind) for kind in Kind])


class SaidSerializer(serializers.Serializer[Any]):
    """A code with its data, and the sentence in the reader's language."""

    code = serializers.CharField()
    data = serializers.DictField()  # type: ignore[assignment]
    message = serializers.SerializerMethodField()

    def get_message(self, error: Any) -> str:
        return error_text(error["code"], error["data"])


class ChannelSerializer(serializers.Serializer[Channel]):
    """Where it leads and its secret are never told; `target` is what may be seen. The context has, as
    `asking`, the user who asks and the user's roles."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=[str(kind) for kind in Kind])
    target = serializers.CharField(source="shown", help_text="The address; of a URL its scheme and host.")
    has_secret = serializers.SerializerMethodField()
    owner = serializers.CharField(source="owner.username")
    may_change = serializers.SerializerMethodField(help_text="Whether the caller may change and test it.")
    shared = serializers.SerializerMethodField()
    team = NamedSerializer(allow_null=True)
    language = serializers.SerializerMethodField(help_text="Null: as its owner chose.")
    with_log = serializers.BooleanField()
    disabled_at = serializers.DateTimeField(allow_null=True)
    disabled_reason = serializers.SerializerMethodField(help_text="What the receiver refused last.")
    created_at = serializers.DateTimeField()

    def get_has_secret(self, channel: Channel) -> bool:
        return channel.secret is not None

    def get_may_change(self, channel: Channel) -> bool:
        return may_change(channel=channel, **self.context["asking"])

    def get_shared(self, channel: Channel) -> bool:
        return channel.team_id is not None

    def get_language(self, channel: Channel) -> str | None:
        return channel.language or None

    @extend_schema_field(SaidSerializer(allow_null=True))
    def get_disabled_reason(self, channel: Any) -> Any:
        return SaidSerializer(channel.refused_last).data if channel.refused_last else None


class DeliverySerializer(serializers.Serializer[Delivery]):
    """A notice on its way to a channel, or what became of it. Of somebody's private channel only the kind is
    told to others."""

    id = serializers.IntegerField()
    event = serializers.CharField(source="notice.code")
    events = serializers.ListField(
        child=serializers.CharField(), source="notice.codes", help_text="All that hold of it."
    )
    at = serializers.DateTimeField(source="notice.at", help_text="When it happened.")
    channel = serializers.IntegerField(
        source="channel_id", allow_null=True, help_text="Null: deleted meanwhile."
    )
    channel_name = serializers.CharField()
    kind = serializers.ChoiceField(choices=[str(kind) for kind in Kind])
    state = serializers.ChoiceField(choices=[str(state) for state in State])
    tries = serializers.IntegerField()
    due_at = serializers.DateTimeField(allow_null=True, help_text="When it is tried next.")
    error = SaidSerializer(allow_null=True, help_text="Of the last try.")
    ended_at = serializers.DateTimeField(allow_null=True)

    def to_representation(self, delivery: Delivery) -> dict[str, Any]:
        answer = super().to_representation(delivery)
        hidden = getattr(delivery, "hidden", False)
        return answer | ({"channel": None, "channel_name": "", "error": None} if hidden else {})


class RuleRequestSerializer(StrictSerializer):
    """The body of `POST alert-rules/`."""

    server_owned = frozenset({"id"})

    subject = serializers.ChoiceField(choices=[str(subject) for subject in OF_ADMINS])
    pool = StrictIntegerField(required=False, allow_null=True, default=None, help_text="Null: all pools.")
    channel = StrictIntegerField()
    events = serializers.ListField(child=serializers.ChoiceField(choices=ADMIN_EVENTS), allow_empty=False)
    minutes = StrictIntegerField(
        required=False, allow_null=True, default=None, help_text="Of the event with a time limit."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["subject"] != Subject.POOL and attrs["pool"] is not None:
            raise exceptions.ValidationError({"pool": refused("pool_unwanted")})
        return attrs


class RuleSerializer(serializers.Serializer[Rule]):
    """Of a private channel of another administrator the name is empty."""

    id = serializers.IntegerField()
    subject = serializers.ChoiceField(choices=[str(subject) for subject in OF_ADMINS])
    pool = serializers.IntegerField(source="subject_id", allow_null=True)
    channel = NamedSerializer()
    events = serializers.ListField(child=serializers.CharField())
    minutes = serializers.IntegerField(allow_null=True)

    def to_representation(self, rule: Rule) -> dict[str, Any]:
        answer = super().to_representation(rule)
        if rule.channel_id not in self.context["usable"]:
            answer["channel"]["name"] = ""
        return answer
