"""REST: the request as it comes in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.drainage import set_override
from rest_framework import exceptions, serializers

from jobs.rules.alerts import EVENTS
from jobs.rules.limits import HANG_ACTIONS, JOB_TYPES, RESOURCE_TYPES, START_POLICIES
from jobs.spec import EnvVar, JobSpec, MountSpec, alerts_of, unix_newlines
from jobs.states import PRIORITY_CODES, Framework
from jobs.texts import finding_text
from teams.rest import StrictBooleanField, StrictIntegerField, StrictSerializer, StrictStringField

# More entries than these are no request, but an attack; what a request may have is a rule.
MOST_ENTRIES = 10_000


class CodeField(StrictStringField):
    """One of a few codes: the schema lists them, the rules judge them."""

    def __init__(self, *, codes: tuple[str, ...], **kwargs: Any) -> None:
        super().__init__(nul=True, allow_blank=True, **kwargs)
        self.codes = codes
        set_override(self, "field", {"type": "string", "enum": list(codes)})


def finding_error(code: str, data: Mapping[str, Any]) -> exceptions.ErrorDetail:
    """The error of a request that cannot be, in the words of its check result."""
    return exceptions.ErrorDetail(finding_text(code, data), code=code)


def _optional_number() -> StrictIntegerField:
    return StrictIntegerField(required=False, allow_null=True, default=None)


def _text(**kwargs: Any) -> StrictStringField:
    return StrictStringField(nul=True, allow_blank=True, **kwargs)


class EnvVarRequestSerializer(StrictSerializer):
    """A variable: with its value, or with the job that has it as a private one (`from_job`)."""

    name = _text()
    value = _text(required=False)
    private = StrictBooleanField(default=False)
    from_job = _text(
        required=False, help_text="Use the value that the private variable has in this job, unread."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "value" in attrs and "from_job" in attrs:
            raise exceptions.ValidationError({"from_job": finding_error("excluded_by_value", {})})
        if not {"value", "from_job"} & attrs.keys():
            raise exceptions.ValidationError({"value": finding_error("required", {})})
        return attrs


class MountRequestSerializer(StrictSerializer):
    server_owned = frozenset({"read_only"})

    volume = StrictIntegerField()
    mount_path = _text()


class AlertRequestSerializer(StrictSerializer):
    """Events, and the channel that is told of them. With a timed one (`…_too_long`) goes its limit."""

    events = serializers.ListField(child=CodeField(codes=EVENTS), max_length=MOST_ENTRIES)
    channel = StrictIntegerField()
    minutes = _optional_number()


class JobRequestSerializer(StrictSerializer):
    """The body of `POST jobs/`. What is missing or wrong by a rule is a finding; here only forms count."""

    server_owned = frozenset(
        {
            *("id", "state", "finished", "deploy_step", "reason", "creator", "total_gpus", "attempt"),
            *("restarts", "exit_code", "first_failure", "queue", "findings", "origin"),
            *("stop_requested_at", "created_at", "started_at", "ended_at"),
        }
    )

    job_type = CodeField(codes=JOB_TYPES, default="training")
    resource_type = CodeField(codes=RESOURCE_TYPES, default="prepaid")
    team = _optional_number()
    pool = _optional_number()
    spec = _optional_number()
    worker_count = _optional_number()
    custom_gpus = _optional_number()
    flavor = _optional_number()
    rdma = StrictBooleanField(default=False)
    image = _optional_number()
    framework = CodeField(codes=tuple(map(str, Framework)), default="single")
    env_check = StrictBooleanField(default=False)
    auto_restart = StrictBooleanField(default=False)
    max_restarts = StrictIntegerField(default=1)
    hang_detection = StrictBooleanField(default=False)
    hang_timeout_seconds = StrictIntegerField(default=1800)
    hang_action = CodeField(codes=HANG_ACTIONS, required=False, allow_null=True, default=None)
    command = _text(default="")
    env = EnvVarRequestSerializer(many=True, default=list, max_length=MOST_ENTRIES)  # type: ignore[call-arg]
    public_data = StrictBooleanField(default=False)
    mounts = MountRequestSerializer(many=True, default=list, max_length=MOST_ENTRIES)  # type: ignore[call-arg]
    alerts = AlertRequestSerializer(  # type: ignore[call-arg]
        many=True,
        required=False,
        allow_null=True,
        default=None,
        max_length=MOST_ENTRIES,
        help_text="Null: those that the caller's new jobs begin with; an empty list: nobody is told.",
    )
    name = _text(default="")
    description = _text(default="")
    tags = serializers.ListField(child=_text(), default=list, max_length=MOST_ENTRIES)
    priority = CodeField(codes=PRIORITY_CODES, default="normal")
    max_runtime_minutes = _optional_number()
    max_queue_minutes = _optional_number()
    start_policy = CodeField(codes=START_POLICIES, default="queue")
    stop_grace_seconds = StrictIntegerField(default=30)
    keep_after_failure_minutes = StrictIntegerField(default=0)

    def job_spec(self) -> JobSpec:
        """The request as the rest of the console knows it."""
        fields = dict(self.validated_data)
        fields["command"] = unix_newlines(fields["command"])
        fields["env"] = tuple(EnvVar(**{"value": None} | variable) for variable in fields["env"])
        fields["mounts"] = tuple(MountSpec(**mount) for mount in fields["mounts"])
        fields["alerts"] = None if fields["alerts"] is None else alerts_of(fields["alerts"])
        fields["tags"] = tuple(fields["tags"])
        return JobSpec(**fields)
