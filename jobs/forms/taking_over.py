"""Taking over an alternative: which values of the form it sets, and those that take it back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.datastructures import MultiValueDict

from jobs.estimate import Alternative
from jobs.forms.laid_aside import NAME
from jobs.texts import alternative_text, change_text

FIELDS = ("pool", "spec", "worker_count", "custom", "custom_gpus", "flavor", "rdma", NAME)
MOST_DIGITS = 19
MOST_SIGNS = 60_000  # what was laid aside is among it


@dataclass(frozen=True, slots=True)
class Offered:
    """An alternative as the page shows it. `values` are the form's, as JSON; a switch that is off is null."""

    text: str
    notes: tuple[str, ...]
    values: str


def offered_of(found: Sequence[Alternative]) -> tuple[Offered, ...]:
    return tuple(
        Offered(
            alternative_text(one),
            tuple(change_text(note.code, note.data) for note in one.notes),
            json.dumps(_values(one.changes)),
        )
        for one in found
    )


def _values(changes: Mapping[str, Any]) -> dict[str, str | None]:
    """Changes of the request as values of the form: a custom count has a switch of its own there."""
    values: dict[str, str | None] = {
        name: "" if value is None else str(value) for name, value in changes.items() if name != "rdma"
    }
    if changes.get("rdma") is False:
        values["rdma"] = None
    if "custom_gpus" in changes:
        values["custom"] = None if changes["custom_gpus"] is None else "on"
    if changes.get("custom_gpus", 0) is None:
        del values["custom_gpus"]  # what was typed stays under the switch
    return values


def taken_over(data: MultiValueDict[str, Any], text: str) -> tuple[MultiValueDict[str, Any], str]:
    """What was posted with the values of the JSON `text`, and the JSON that takes that back; with nothing
    changed and empty if it is not of this page."""
    values = MultiValueDict({name: list(posted) for name, posted in data.lists()})
    wanted = _parsed(text)
    if not wanted:
        return values, ""
    before = {name: data.get(name) for name in FIELDS}
    for name, value in wanted.items():
        if value is None:
            values.pop(name, None)
        else:
            values[name] = value
    return values, json.dumps(before)


def pool_adopted(text: str) -> int | None:
    """The pool that the JSON `text` chooses, if it chooses one."""
    pool = _parsed(text).get("pool") or ""
    return int(pool) if pool.isascii() and pool.isdigit() and len(pool) < MOST_DIGITS else None


def _parsed(text: str) -> dict[str, str | None]:
    try:
        found = json.loads(text) if len(text) <= MOST_SIGNS else None
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: v for name, v in found.items() if name in FIELDS and (v is None or isinstance(v, str))}
