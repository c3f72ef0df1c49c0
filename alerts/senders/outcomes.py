"""How sending ended: codes and data, put into words by `alerts.texts`. Plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Sent:
    """The receiver said that it has it."""


@dataclass(frozen=True, slots=True)
class Refused:
    """It will not be taken, however often it is tried."""

    code: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Later:
    """It may be taken at another time. `data["after"]`, where it is there: seconds the receiver asks for."""

    code: str
    data: Mapping[str, Any] = field(default_factory=dict)


Outcome = Sent | Refused | Later
