"""The difference of two requests as a page shows it: labels of the form, names for ids, words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from jobs.difference import Difference, How
from jobs.forms.job import ROWS, JobForm
from jobs.texts import (
    FRAMEWORK_LABELS,
    HANG_ACTION_LABELS,
    PRIORITY_LABELS,
    START_POLICY_LABELS,
    private_text,
)
from jobs.texts.alerts import alerts_text

MOST_LINES = 400  # of a text whose lines are compared: that takes the square of their number
CODES: Mapping[str, Mapping[Any, Any]] = {
    "framework": FRAMEWORK_LABELS,
    "priority": PRIORITY_LABELS,
    "start_policy": START_POLICY_LABELS,
    "hang_action": HANG_ACTION_LABELS,
}


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """`old` and `new` stand beside each other, unless there is a `note` in their place, or the `lines` of a
    text that differ, each with its sign: + - or a blank."""

    label: str
    old: str = ""
    new: str = ""
    note: str = ""
    lines: str = ""


def difference_rows(found: Iterable[Difference], channels: Mapping[int, str]) -> list[DifferenceRow]:
    """`channels` are the names of those that the reader may see."""
    return [_row(one, channels) for one in found]


def _row(one: Difference, channels: Mapping[int, str]) -> DifferenceRow:
    label = label_of(one.field)
    if one.how in (How.KEPT, How.ENTERED):
        return DifferenceRow(label, note=private_text(one.how))
    if one.field in ("command", "description"):
        lines = _lines(one.old, one.new)
        return DifferenceRow(
            label, lines=lines, note="" if lines else _("changed; it is too long to compare")
        )
    if one.field == "alerts":
        return DifferenceRow(label, alerts_text(one.old, channels), alerts_text(one.new, channels))
    old, new = _text(one.field, one.old, one.old_name), _text(one.field, one.new, one.new_name)
    return DifferenceRow(label, old, new)


def label_of(field: str) -> str:
    """What the form calls a field of the request; a variable and a mount with their own name."""
    head, _dot, rest = field.partition(".")
    if head == "env":
        return pgettext("one of several", "%(kind)s %(name)s") % {
            "kind": _("Environment variable"),
            "name": rest,
        }
    if head == "mounts":
        return pgettext("one of several", "%(kind)s %(name)s") % {
            "kind": _("High-performance storage"),
            "name": rest,
        }
    if head in ROWS:
        return str(ROWS[head])
    form_field = JobForm.base_fields.get(head)
    return str(form_field.label) if form_field else head


def heading_of(path: str) -> str:
    """What the form calls the field in which a check result is found."""
    head = path.partition(".")[0]
    several = {"env": _("Environment variables"), **{name: str(label) for name, label in ROWS.items()}}
    return several.get(head) or label_of(head)


def _text(field: str, value: Any, name: str) -> str:
    if isinstance(value, bool):
        return pgettext("switch", "on") if value else pgettext("switch", "off")
    if field in CODES:
        return str(CODES[field].get(value or "", value or "–"))
    if isinstance(value, list):
        return pgettext("between entries", ", ").join(map(str, value)) or "–"
    if name:
        return name
    return "–" if value is None or value == "" else str(value)


def _lines(old: str, new: str) -> str:
    """What changed with a line around it; empty where it is too long."""
    before, after = old.splitlines(), new.splitlines()
    if max(len(before), len(after)) > MOST_LINES:
        return ""
    compared = list(unified_diff(before, after, lineterm="", n=1))[3:]  # after names and the first place
    return "\n".join("…" if line.startswith("@@") else line for line in compared)
