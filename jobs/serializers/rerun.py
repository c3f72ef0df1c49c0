"""REST: what a rerun may change, and the estimate of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext
from rest_framework import exceptions

from jobs.rerun import Changes
from jobs.rules.limits import HANG_ACTIONS
from jobs.serializers.answer import ChangeSerializer, EstimateSerializer
from jobs.serializers.request import MOST_ENTRIES, CodeField, JobRequestSerializer
from jobs.spec import EnvVar, unix_newlines
from teams.rest import StrictBooleanField, StrictIntegerField, StrictSerializer, StrictStringField

NULL_IS_KEPT = ("worker_count",)  # which stands so beside a custom count


def _number(**more: Any) -> StrictIntegerField:
    return StrictIntegerField(required=False, **more)


class PrivateValueSerializer(StrictSerializer):
    """A value of one's own for a private variable of the job."""

    name = StrictStringField(nul=True, allow_blank=True)
    value = StrictStringField(nul=True, allow_blank=True)


class RerunRequestSerializer(StrictSerializer):
    """The body of a rerun: nothing, or what becomes different. Every other field is as in the job; whoever
    wants to change another one clones it."""

    server_owned = JobRequestSerializer.server_owned

    command = StrictStringField(nul=True, allow_blank=True, required=False)
    spec = _number(allow_null=True)
    worker_count = _number(allow_null=True)
    custom_gpus = _number(allow_null=True, help_text="Takes the place of `spec` and `worker_count`.")
    flavor = _number(allow_null=True)
    image = _number(allow_null=True)
    hang_detection = StrictBooleanField(required=False)
    hang_timeout_seconds = _number()
    hang_action = CodeField(codes=HANG_ACTIONS, required=False, allow_null=True)
    private_env = PrivateValueSerializer(  # type: ignore[call-arg]
        many=True, required=False, max_length=MOST_ENTRIES
    )

    def _refusal(self, name: str, known: Sequence[str]) -> exceptions.ErrorDetail:
        if name in JobRequestSerializer().fields:
            detail = gettext("A rerun keeps this field as it is in the job; clone the job to change it.")
            return exceptions.ErrorDetail(detail, code="not_in_rerun")
        return super()._refusal(name, known)

    def changes(self) -> Changes:
        given = self.validated_data.items()
        fields = {name: value for name, value in given if name not in NULL_IS_KEPT or value is not None}
        private = tuple(EnvVar(v["name"], v["value"], True) for v in fields.pop("private_env", ()))
        if "command" in fields:
            fields["command"] = unix_newlines(fields["command"])
        return Changes(fields, private)


class RerunEstimateSerializer(EstimateSerializer):
    """The estimate of a rerun, and what becomes different in it without being asked for."""

    follows = ChangeSerializer(many=True)
