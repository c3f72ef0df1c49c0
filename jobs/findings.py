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
class Finding:
    """`field` names where to look, as in the API: `worker_count`, `env.0.name`, `mounts.1.mount_path`."""

    code: str
    field: str
    level: Level = Level.ERROR
    data: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"code": self.code, "field": self.field, "level": str(self.level), "data": dict(self.data)}


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is so (a job waits, failed, was refused): a code and its data."""

    code: str
    data: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"code": self.code, "data": dict(self.data)}
