"""REST: what may be changed of a job."""

from __future__ import annotations

from rest_framework import serializers

from jobs.editing import Edit
from jobs.serializers.request import (
    MOST_ENTRIES,
    AlertRequestSerializer,
    CodeField,
    JobRequestSerializer,
)
from jobs.spec import alerts_of
from jobs.states import PRIORITY_CODES
from teams.rest import StrictSerializer, StrictStringField


class JobEditSerializer(StrictSerializer):
    """The fields of `PATCH jobs/{id}/`; all others stay as they were asked for."""

    server_owned = JobRequestSerializer.server_owned

    priority = CodeField(codes=PRIORITY_CODES, required=False, help_text="While the job waits.")
    description = StrictStringField(nul=True, allow_blank=True, required=False)
    tags = serializers.ListField(
        child=StrictStringField(nul=True, allow_blank=True), required=False, max_length=MOST_ENTRIES
    )

    alerts = AlertRequestSerializer(  # type: ignore[call-arg]
        many=True,
        required=False,
        max_length=MOST_ENTRIES,
        help_text="Until the job has ended, in the place of the alerts to channels that the caller may use.",
    )

    def edit(self) -> Edit:
        fields = dict(self.validated_data)
        if "tags" in fields:
            fields["tags"] = tuple(fields["tags"])
        if "alerts" in fields:
            fields["alerts"] = alerts_of(fields["alerts"])
        return Edit(**fields)
