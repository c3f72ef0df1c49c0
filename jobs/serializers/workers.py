"""REST: what is said about Workers and their environment checks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from jobs.environment import worker_name
from jobs.models import Worker
from jobs.texts import ITEM_LABELS, VERDICT_LABELS, found_text


class WorkerSerializer(serializers.Serializer[Worker]):
    rank = serializers.IntegerField()
    name = serializers.SerializerMethodField()
    attempt = serializers.IntegerField(source="attempt.number")
    node = serializers.CharField(source="node_name")
    gpus = serializers.ListField(child=serializers.IntegerField(), help_text="Indices on the node.")
    exit_code = serializers.IntegerField(allow_null=True)
    signal = serializers.IntegerField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)

    def get_name(self, worker: Worker) -> str:
        return worker_name(worker.attempt.job.key, worker.rank)


class CheckItemSerializer(serializers.Serializer[Any]):
    """One thing that was looked at, with what was measured."""

    item = serializers.ChoiceField(choices=list(ITEM_LABELS))
    verdict = serializers.ChoiceField(choices=list(VERDICT_LABELS))
    code = serializers.CharField()
    data = serializers.DictField()  # type: ignore[assignment]
    message = serializers.SerializerMethodField()

    def get_message(self, item: dict[str, Any]) -> str:
        return found_text(item["code"], item["data"])


class EnvCheckSerializer(serializers.Serializer[Worker]):
    """The environment check of one Worker."""

    rank = serializers.IntegerField()
    attempt = serializers.IntegerField(source="attempt.number")
    node = serializers.CharField(source="node_name")
    outcome = serializers.ChoiceField(
        source="env_check.outcome",
        choices=["done", "timed_out", "broke_off"],
        help_text="How its program ended.",
    )
    began_at = serializers.SerializerMethodField()
    ended_at = serializers.SerializerMethodField()
    items = CheckItemSerializer(many=True, source="env_check.items")

    @extend_schema_field(OpenApiTypes.DATETIME)
    def get_began_at(self, worker: Worker) -> datetime | None:
        return _moment(worker, "began_at")

    @extend_schema_field(OpenApiTypes.DATETIME)
    def get_ended_at(self, worker: Worker) -> datetime | None:
        return _moment(worker, "ended_at")


def _moment(worker: Worker, name: str) -> datetime | None:
    at = (worker.env_check or {}).get(name)
    return None if at is None else datetime.fromtimestamp(at, UTC)
