"""REST: what may be changed of a job."""

from __future__ import annotations

from rest_framework import serializers

from jobs.editing import Edit
from jobs.serializers.request import MOST_ENTRIES, CodeField, JobRequestSerializer
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

    def edit(self) -> Edit:
        fields = dict(self.validated_data)
        if "tags" in fields:
            fields["tags"] = tuple(fields["tags"])
        return Edit(**fields)
