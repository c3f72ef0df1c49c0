"""REST: a path check as it is asked for and as it is answered."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from jobs.serializers import JobRequestSerializer
from jobs.serializers.said import FindingSerializer
from runs.models import CHECK_STATES, PathCheck
from runs.path_check.services import places_of
from runs.path_check.texts import check_reason_text, summary_text
from runs.path_check.values import MOST_PATHS, Created, Kind, Result, ScriptState
from teams.rest import StrictStringField


def _paths(**kwargs: Any) -> serializers.ListField:
    return serializers.ListField(child=StrictStringField(nul=True), max_length=MOST_PATHS, **kwargs)


class PathCheckRequestSerializer(JobRequestSerializer):
    """The body of `POST jobs/`, of which team, pool, image, mounts, public data, command and variables count.
    `paths`: look at these instead of those that the request names. `create`: make these folders first."""

    paths = _paths(required=False)
    create = _paths(required=False, default=list)  # type: ignore[assignment]

    paths_given: list[str] | None = None
    to_create: list[str] = []

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        """Keeps apart what is no part of a request."""
        self.paths_given, self.to_create = data.pop("paths", None), data.pop("create")
        return data


class PlaceSerializer(serializers.Serializer[Any]):
    volume = serializers.IntegerField(allow_null=True, help_text="Null: the public data.")
    name = serializers.CharField()
    mount_path = serializers.CharField()
    read_only = serializers.BooleanField()  # type: ignore[assignment]


class PathSeenSerializer(serializers.Serializer[Any]):
    path = serializers.CharField()
    origins = serializers.ListField(
        child=serializers.CharField(), help_text="The fields that name it; a variable is `env.NAME`."
    )
    kind = serializers.ChoiceField(choices=[str(kind) for kind in Kind])
    exists = serializers.BooleanField()
    readable = serializers.BooleanField()
    writable = serializers.BooleanField()
    executable = serializers.BooleanField(help_text="Of a folder: it can be entered.")
    mount = PlaceSerializer(
        allow_null=True,
        help_text="Where it lies, or would lie, after all links. Null: in the image or on the system disk, "
        "so that what is written there is lost when the job ends.",
    )
    parent = serializers.CharField(  # type: ignore[assignment]
        allow_null=True, help_text="Of a missing one, the nearest that exists."
    )
    creatable = serializers.BooleanField()
    created = serializers.ChoiceField(choices=[str(how) for how in Created], allow_null=True)


class ScriptSeenSerializer(serializers.Serializer[Any]):
    path = serializers.CharField()
    outcome = serializers.ChoiceField(choices=[str(state) for state in ScriptState], source="state")
    findings = FindingSerializer(many=True)


class CheckReasonSerializer(serializers.Serializer[Any]):
    """A code with its data, and the sentence in the reader's language."""

    code = serializers.CharField()
    data = serializers.DictField()  # type: ignore[assignment]
    message = serializers.SerializerMethodField()

    def get_message(self, reason: Any) -> str:
        return check_reason_text(reason["code"], reason["data"])


class PathCheckSerializer(serializers.Serializer[PathCheck]):
    id = serializers.CharField(source="key")
    state = serializers.ChoiceField(choices=[(str(code), label) for code, label in CHECK_STATES.items()])
    reason = CheckReasonSerializer(allow_null=True)
    summary = serializers.SerializerMethodField(help_text="All paths in one line.")
    paths = serializers.SerializerMethodField()
    left_out = serializers.SerializerMethodField(
        help_text="How many paths of the request were too many to be looked at."
    )
    scripts = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)

    def get_summary(self, check: PathCheck) -> str:
        return summary_text(_result(check).paths) if check.result else ""

    @extend_schema_field(PathSeenSerializer(many=True))
    def get_paths(self, check: PathCheck) -> Any:
        places = places_of(check)
        rows = [
            {name: getattr(path, name) for name in map(str, PathSeenSerializer().fields)}
            | {"mount": places[path.mount] if path.mount is not None else None}
            for path in _result(check).paths
        ]
        return PathSeenSerializer(rows, many=True).data

    def get_left_out(self, check: PathCheck) -> int:
        return int(check.asked["left_out"])

    @extend_schema_field(ScriptSeenSerializer(many=True))
    def get_scripts(self, check: PathCheck) -> Any:
        return ScriptSeenSerializer(_result(check).scripts, many=True).data


def _result(check: PathCheck) -> Result:
    return Result.from_json(check.result) if check.result else Result()
