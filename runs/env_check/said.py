"""Takes what was printed in a Worker for no more than it is: the words of programs that the job may have
brought along. What comes out of here can be kept by every database. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

Measured = Mapping[str, Any]

MOST_DETAIL = 200  # letters of a text that is kept
_LARGEST = 2**63  # no number that is measured comes near
_NO_DATE = 2.5e11  # seconds since the epoch: the year 9892


def measurements(text: str) -> dict[str, list[Measured]]:
    """The measurements by their items; other lines are somebody else's words."""
    found: dict[str, list[Measured]] = {}
    for line in text.splitlines():
        try:
            told = _storable(json.loads(line))
        except (ValueError, RecursionError):
            continue
        if isinstance(told, dict) and isinstance(told.get("item"), str):
            found.setdefault(told["item"], []).append(told)
    return found


def _storable(value: Any) -> Any:
    """The same without letters and numbers that a database refuses."""
    if isinstance(value, str):
        return value.replace("\0", "�").encode("utf-8", "replace").decode()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [_storable(one) for one in value]
    if isinstance(value, dict):
        return {_storable(name): _storable(one) for name, one in value.items()}
    return value


def detail(value: Any) -> str:
    """As a text of a length that may be kept."""
    return str(_storable(value))[:MOST_DETAIL]


def number(value: Any) -> float:
    """The number it is, be it whole or not; ValueError if it is none, or none that can have been measured."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _LARGEST:
        raise ValueError(f"not a number: {detail(value)!r}")
    return value


def time_of(value: Any) -> float | None:
    """A moment, if it is one."""
    try:
        at = number(value)
    except ValueError:
        return None
    return at if 0 <= at < _NO_DATE else None
