"""Check results: a code with its level, the field it belongs to, and data. Never a sentence."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    ERROR = "error"  # refuses the request
    WARNING = "warning"
    HINT = "hint"


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that would settle a finding, for a person to look at and take over.

    Of a text of several lines, `line` (from 1) tells where the lines of `old` stand that `new` would
    replace; an empty `old` is put in before that line. Without `line`, the whole value `old` becomes `new`.
    """

    field: str
    old: str
    new: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """`field` names where to look, as in the API: `worker_count`, `env.0.name`, `mounts.1.mount_path`.

    In `command`, `data` has the `line` that is meant, from 1. `leans_on` is a field that is filled in later
    and decides on the finding too: until it was, the finding is not certain.
    """

    code: str
    field: str
    level: Level = Level.ERROR
    data: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    fix: Fix | None = None
    leans_on: str = ""

    def as_json(self) -> dict[str, Any]:
        """What is stored with a job: nothing can be changed in it any more, so without the fix."""
        return {"code": self.code, "field": self.field, "level": str(self.level), "data": dict(self.data)}


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is so (a job waits, failed, was refused): a code and its data."""

    code: str
    data: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"code": self.code, "data": dict(self.data)}


@dataclass(frozen=True, slots=True)
class Change:
    """Something that becomes different, to be told to whom it matters: a code and its data."""

    code: str
    data: Mapping[str, Any] = dataclasses.field(default_factory=dict)
