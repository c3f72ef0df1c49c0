"""REST: what is said about jobs, estimates and events.

In answers a reference is an object with its id and name; people are told by their user name.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from jobs.attempts import attempt_steps
from jobs.difference import How
from jobs.models import Attempt, Job, JobEvent
from jobs.present import HUNG, SUSPECTED, present_of
from jobs.rules.alerts import EVENTS
from jobs.rules.limits import HANG_ACTIONS, JOB_TYPES, RESOURCE_TYPES, START_POLICIES
from jobs.serializers.said import FindingSerializer, FixableSerializer, ReasonSerializer
from jobs.spec import JobSpec
from jobs.states import PRIORITY_CODES, Framework, OriginKind, Priority, State
from jobs.texts import (
    change_text,
    event_text,
)
from jobs.timeline import Step
from teams.serializers import NamedSerializer


def _present_attempt(job: Job) -> Attempt | None:
    """Among those that were read with the job."""
    return next((one for one in job.attempts.all() if one.number == job.attempt), None)


def _shown(serializer: Any) -> dict[str, Any]:
    return dict(serializer.data)


class QueuePlaceSerializer(serializers.Serializer[Any]):
    position = serializers.IntegerField(help_text="Counts from 1.")
    ahead = serializers.IntegerField(help_text="Waiting jobs before it.")
    gpus_ahead = serializers.IntegerField()


class WorkerPlaceSerializer(serializers.Serializer[Any]):
    rank = serializers.IntegerField()
    gpus = serializers.IntegerField()
    node = serializers.CharField(allow_null=True)


class EnvironmentSerializer(serializers.Serializer[Any]):
    """Variables equal in all Workers, and those of each rank. Null: private, or known only once placed."""

    common = serializers.DictField(child=serializers.CharField(allow_null=True), source="environment_common")
    ranks = serializers.ListField(
        child=serializers.DictField(child=serializers.CharField(allow_null=True)), source="environment_ranks"
    )


class ChangeSerializer(serializers.Serializer[Any]):
    """What becomes different, by code, and the sentence in the reader's language."""

    code = serializers.CharField()
    data = serializers.DictField()  # type: ignore[assignment]
    message = serializers.SerializerMethodField()

    def get_message(self, change: Any) -> str:
        return change_text(change.code, change.data)


class AlternativeSerializer(serializers.Serializer[Any]):
    changes = serializers.DictField(help_text="Fields of the request, and the values to send instead.")
    startable = serializers.IntegerField(help_text="As in the estimate of the changed request.")
    starts_now = serializers.BooleanField()
    notes = ChangeSerializer(many=True)


class EstimateSerializer(serializers.Serializer[Any]):
    valid = serializers.BooleanField()
    startable = serializers.IntegerField(allow_null=True)
    unit = serializers.ChoiceField(choices=["workers", "gpus"])
    wanted = serializers.IntegerField(allow_null=True)
    starts_now = serializers.BooleanField()
    total_gpus = serializers.IntegerField(allow_null=True)
    idle_gpus = serializers.IntegerField(allow_null=True)
    workers = WorkerPlaceSerializer(many=True)
    queue = QueuePlaceSerializer(allow_null=True)
    reason = ReasonSerializer(allow_null=True)
    alternatives = AlternativeSerializer(
        many=True, help_text="What would start now in its place, if the request would not; at most three."
    )
    rdma_allowed = serializers.BooleanField()
    environment = EnvironmentSerializer(source="*")
    findings = FixableSerializer(many=True)


class FrozenSpecSerializer(NamedSerializer):
    gpus = serializers.IntegerField()


class FrozenImageSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    reference = serializers.CharField()
    digest = serializers.CharField()


class FailureSerializer(serializers.Serializer[Any]):
    rank = serializers.IntegerField()
    exit_code = serializers.IntegerField(allow_null=True)
    signal = serializers.IntegerField(allow_null=True)


class HangSerializer(serializers.Serializer[Any]):
    """What the hang detection says of the present run."""

    state = serializers.ChoiceField(choices=[SUSPECTED, HUNG])
    since = serializers.DateTimeField(help_text="The last output of any Worker.")


class OriginSerializer(serializers.Serializer[Any]):
    """The job that this one was made from."""

    id = serializers.CharField()
    kind = serializers.ChoiceField(choices=[str(kind) for kind in OriginKind])


class DifferenceSerializer(serializers.Serializer[Any]):
    """What the job asks for differently; of private values only whether they were kept or entered."""

    field = serializers.CharField(help_text="As in a request; `env.<name>`, `mounts.<path>`.")
    how = serializers.ChoiceField(choices=[str(how) for how in How])
    old = serializers.JSONField(allow_null=True)
    new = serializers.JSONField(allow_null=True)


class OriginDetailSerializer(OriginSerializer):
    differences = DifferenceSerializer(many=True)


LATER_NAMES = (
    "env_check",
    "auto_restart",
    "max_restarts",
    "hang_detection",
    "hang_timeout_seconds",
    "start_policy",
    "keep_after_failure_minutes",
)
LATER_FIELDS = {
    field.name: field.default for field in dataclasses.fields(JobSpec) if field.name in LATER_NAMES
}


class JobRowSerializer(serializers.Serializer[Job]):
    """A job in a list, as found by `JobQuerySet.shown`. Tags, attempts, creator and team are prefetched.

    Of a waiting job, place and reason are only told with the job itself.
    """

    id = serializers.CharField(source="key")
    name = serializers.CharField()
    description = serializers.CharField()
    tags = serializers.SerializerMethodField()
    state = serializers.ChoiceField(choices=[str(state) for state in State])
    finished = serializers.BooleanField()
    deploy_step = serializers.CharField()
    reason: serializers.Field[Any, Any, Any, Any] = ReasonSerializer(allow_null=True)
    creator = serializers.CharField(source="creator.username")
    team = NamedSerializer()
    job_type = serializers.ChoiceField(source="shown_job_type", choices=JOB_TYPES)
    resource_type = serializers.ChoiceField(source="shown_resource_type", choices=RESOURCE_TYPES)
    pool = NamedSerializer(source="shown_pool")
    flavor = NamedSerializer(source="shown_flavor")
    spec = FrozenSpecSerializer(source="shown_spec", allow_null=True)
    worker_count = serializers.IntegerField(source="shape.workers")
    custom_gpus = serializers.IntegerField(source="shown_custom_gpus", allow_null=True)
    total_gpus = serializers.IntegerField()
    rdma = serializers.BooleanField(source="shown_rdma")
    image = FrozenImageSerializer(source="shown_image")
    framework = serializers.ChoiceField(choices=[str(framework) for framework in Framework])
    public_data = serializers.BooleanField(source="shown_public_data")
    env_check = serializers.BooleanField(source="shown_env_check")
    auto_restart = serializers.BooleanField(source="shown_auto_restart")
    max_restarts = serializers.IntegerField(source="shown_max_restarts")
    hang_detection = serializers.BooleanField(source="shown_hang_detection")
    hang_timeout_seconds = serializers.IntegerField(source="shown_hang_timeout_seconds")
    hang_action = serializers.ChoiceField(source="shown_hang_action", choices=HANG_ACTIONS, allow_null=True)
    priority = serializers.SerializerMethodField()
    max_runtime_minutes = serializers.IntegerField(source="shown_max_runtime_minutes", allow_null=True)
    max_queue_minutes = serializers.IntegerField(source="shown_max_queue_minutes", allow_null=True)
    start_policy = serializers.ChoiceField(source="shown_start_policy", choices=START_POLICIES)
    stop_grace_seconds = serializers.IntegerField(source="shown_stop_grace_seconds")
    keep_after_failure_minutes = serializers.IntegerField(source="shown_keep_after_failure_minutes")
    attempt = serializers.IntegerField(help_text="0 while it was never placed.")
    restarts = serializers.IntegerField(help_text="After failures and hangs, by the platform.")
    platform_restarts = serializers.IntegerField(help_text="After lost or drained nodes; of no budget.")
    exit_code = serializers.IntegerField(allow_null=True)
    first_failure = serializers.SerializerMethodField()
    kept_until = serializers.SerializerMethodField(
        help_text="Until when the files of the failed run can be read; null: none were kept."
    )
    origin = serializers.SerializerMethodField()
    hang = serializers.SerializerMethodField(
        help_text="While its silence says that it may hang, or hangs; null as soon as there is output again."
    )
    stop_requested_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)

    def to_representation(self, job: Job) -> dict[str, Any]:
        """What came into requests after the job was created has its default."""
        row = super().to_representation(job)
        return row | {name: value for name, value in LATER_FIELDS.items() if row[name] is None}

    def get_tags(self, job: Job) -> list[str]:
        return [tag.name for tag in sorted(job.tags.all(), key=lambda tag: tag.pk)]

    @extend_schema_field(OriginSerializer(allow_null=True))
    def get_origin(self, job: Any) -> dict[str, Any] | None:
        return {"id": job.origin_key, "kind": job.origin_kind} if job.origin_key else None

    @extend_schema_field({"type": "string", "enum": list(PRIORITY_CODES)})
    def get_priority(self, job: Job) -> str:
        return Priority(job.priority).label_code

    @extend_schema_field(FailureSerializer(allow_null=True))
    def get_first_failure(self, job: Job) -> dict[str, Any] | None:
        attempt = _present_attempt(job)
        return attempt.first_failure if attempt else None

    @extend_schema_field(HangSerializer(allow_null=True))
    def get_hang(self, job: Job) -> dict[str, Any] | None:
        hang = present_of(job, _present_attempt(job)).hang
        return _shown(HangSerializer(hang)) if hang else None

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_kept_until(self, job: Job) -> str | None:
        attempt = _present_attempt(job)
        until = attempt.kept_until if attempt else None
        return None if until is None else serializers.DateTimeField().to_representation(until)


class EnvVarSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    value = serializers.CharField(allow_null=True, help_text="Null: private, and entered by somebody else.")
    private = serializers.BooleanField()


class MountSerializer(serializers.Serializer[Any]):
    volume = serializers.IntegerField()
    mount_path = serializers.CharField()
    read_only = serializers.BooleanField()  # type: ignore[assignment]


class AlertSerializer(serializers.Serializer[Any]):
    """Which channel is told of which events; `minutes` is the limit of the timed one."""

    events = serializers.ListField(child=serializers.ChoiceField(choices=EVENTS))
    channel = serializers.IntegerField(allow_null=True, help_text="Null: a private one of somebody else.")
    minutes = serializers.IntegerField(allow_null=True)


class DeployStepSerializer(serializers.Serializer[Step]):
    """A step of a deployment; `reason` is why it failed there."""

    step = serializers.CharField(source="name")
    begun_at = serializers.DateTimeField(source="begin", allow_null=True)
    ended_at = serializers.DateTimeField(source="end", allow_null=True)
    reason = ReasonSerializer(allow_null=True)


class AttemptSerializer(serializers.Serializer[Attempt]):
    """One run of a job, from the moment when it got its GPUs."""

    number = serializers.IntegerField()
    placed_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    deploy_steps = serializers.SerializerMethodField()

    @extend_schema_field(DeployStepSerializer(many=True))
    def get_deploy_steps(self, attempt: Attempt) -> list[dict[str, Any]]:
        return [_shown(DeployStepSerializer(step)) for step in attempt_steps(attempt)]


class JobSerializer(JobRowSerializer):
    """A job with everything. `place` and `waits_for` of the context are those of a waiting one,
    `private` the values of its private variables that the reader has entered, and `alerts` as the reader may
    see them."""

    reason = serializers.SerializerMethodField()
    queue = serializers.SerializerMethodField()
    command = serializers.CharField(source="request.command")
    env = serializers.SerializerMethodField()
    mounts = MountSerializer(many=True, source="frozen.mounts")
    alerts = serializers.SerializerMethodField()
    attempts = AttemptSerializer(many=True, help_text="All runs so far.")
    findings = FindingSerializer(many=True)

    @extend_schema_field(OriginDetailSerializer(allow_null=True))
    def get_origin(self, job: Job) -> dict[str, Any] | None:
        origin = self.context.get("origin")
        return _shown(OriginDetailSerializer(origin)) if origin else None

    @extend_schema_field(ReasonSerializer(allow_null=True))
    def get_reason(self, job: Job) -> dict[str, Any] | None:
        reason = job.reason or self.context.get("waits_for")
        return _shown(ReasonSerializer(reason)) if reason else None

    @extend_schema_field(QueuePlaceSerializer(allow_null=True))
    def get_queue(self, job: Job) -> dict[str, Any] | None:
        place = self.context.get("place")
        return _shown(QueuePlaceSerializer(place)) if place else None

    @extend_schema_field(AlertSerializer(many=True))
    def get_alerts(self, job: Job) -> list[dict[str, Any]]:
        return [_shown(AlertSerializer(alert)) for alert in self.context["alerts"]]

    @extend_schema_field(EnvVarSerializer(many=True))
    def get_env(self, job: Job) -> list[dict[str, Any]]:
        private = self.context.get("private", {})
        return [
            {**v, "value": private.get(v["name"]) if v["private"] else v["value"]} for v in job.request["env"]
        ]


class EventSerializer(serializers.Serializer[JobEvent]):
    at = serializers.DateTimeField()
    code = serializers.CharField()
    message = serializers.SerializerMethodField()
    actor = serializers.SerializerMethodField()
    data = serializers.DictField()  # type: ignore[assignment]

    def get_message(self, event: JobEvent) -> str:
        return event_text(event.code, event.data)

    @extend_schema_field(OpenApiTypes.STR)
    def get_actor(self, event: JobEvent) -> str | None:
        return event.actor.username if event.actor else None


class WaitingSerializer(serializers.Serializer[Job]):
    """A place in a queue. Of other teams' jobs only what takes up room is told."""

    id = serializers.SerializerMethodField()
    name = serializers.SerializerMethodField()
    priority = serializers.SerializerMethodField()
    total_gpus = serializers.IntegerField()
    waiting_since = serializers.DateTimeField()

    def get_id(self, job: Job) -> str | None:
        return job.key if self._mine(job) else None

    def get_name(self, job: Job) -> str | None:
        return job.name if self._mine(job) else None

    @extend_schema_field({"type": "string", "enum": list(PRIORITY_CODES)})
    def get_priority(self, job: Job) -> str:
        return Priority(job.priority).label_code

    def _mine(self, job: Job) -> bool:
        return job.team_id in self.context["teams"]


class CountsSerializer(serializers.Serializer[Any]):
    queued = serializers.IntegerField()
    deploying = serializers.IntegerField()
    running = serializers.IntegerField()
    succeeded = serializers.IntegerField()
    failed = serializers.IntegerField()
    stopped = serializers.IntegerField()
    total = serializers.IntegerField()
