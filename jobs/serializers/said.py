"""REST: reasons and check results, each a code with its data and the sentence in the reader's language."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from jobs.texts import finding_text, reason_text


class ReasonSerializer(serializers.Serializer[Any]):
    """A code with its data, and the sentence in the reader's language."""

    code = serializers.CharField()
    data = serializers.DictField()  # type: ignore[assignment]
    message = serializers.SerializerMethodField()

    def get_message(self, reason: Any) -> str:
        code, data = _code_and_data(reason)
        return reason_text(code, data)


class FixSerializer(serializers.Serializer[Any]):
    """A change that would settle the finding: `old` to `new` in the field, or in its lines from `line` on."""

    field = serializers.CharField()
    line = serializers.IntegerField(allow_null=True, help_text="Counts from 1; null: the whole value.")
    old = serializers.CharField(allow_blank=True)
    new = serializers.CharField(allow_blank=True)


class FindingSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    level = serializers.ChoiceField(choices=["error", "warning", "hint"])
    field = serializers.CharField()
    data = serializers.DictField()  # type: ignore[assignment]
    message = serializers.SerializerMethodField()

    def get_message(self, finding: Any) -> str:
        return finding_text(*_code_and_data(finding))


class FixableSerializer(FindingSerializer):
    """A check result of a request that can still be changed."""

    fix = FixSerializer(allow_null=True)
    leans_on = serializers.CharField(help_text="A later field that decides on it too; empty: none.")


def _code_and_data(said: Any) -> tuple[str, dict[str, Any]]:
    """Of a stored reason or finding, or of one just made."""
    return (said["code"], said["data"]) if isinstance(said, dict) else (said.code, dict(said.data))
