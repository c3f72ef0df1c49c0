"""How a request is queued, watched and ended: fault tolerance and what the form calls advanced."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.facts import Facts
from jobs.findings import Finding
from jobs.rules.limits import (
    HANG_ACTIONS,
    LEAST_HANG_SECONDS,
    MOST_GRACE_SECONDS,
    MOST_HANG_SECONDS,
    MOST_KEPT_MINUTES,
    MOST_MINUTES,
    MOST_RESTARTS,
    START_POLICIES,
    UNITS,
)
from jobs.spec import JobSpec
from jobs.states import PRIORITY_CODES, Priority


def tolerance(spec: JobSpec) -> Iterator[Finding]:
    yield from _within("max_restarts", spec.max_restarts, 1, MOST_RESTARTS)
    yield from _within(
        "hang_timeout_seconds", spec.hang_timeout_seconds, LEAST_HANG_SECONDS, MOST_HANG_SECONDS
    )
    if spec.hang_action is not None and spec.hang_action not in HANG_ACTIONS:
        yield Finding("invalid_choice", "hang_action")
    elif spec.hang_detection and spec.hang_action == "restart" and not spec.auto_restart:
        yield Finding("hang_restart_needs_auto_restart", "hang_action")


def advanced(spec: JobSpec, facts: Facts) -> Iterator[Finding]:
    if spec.priority not in PRIORITY_CODES:
        yield Finding("invalid_choice", "priority")
    elif Priority.of(spec.priority) == Priority.HIGH and not facts.may_use_high_priority:
        yield Finding("priority_needs_right", "priority")
    if spec.start_policy not in START_POLICIES:
        yield Finding("invalid_choice", "start_policy")
    yield from _within("max_runtime_minutes", spec.max_runtime_minutes, 1, MOST_MINUTES)
    yield from _within("max_queue_minutes", spec.max_queue_minutes, 1, MOST_MINUTES)
    yield from _within("stop_grace_seconds", spec.stop_grace_seconds, 0, MOST_GRACE_SECONDS)
    yield from _within("keep_after_failure_minutes", spec.keep_after_failure_minutes, 0, MOST_KEPT_MINUTES)


def _within(field: str, value: int | None, least: int, most: int) -> Iterator[Finding]:
    """`field` ends with its unit where it is a length of time."""
    if value is not None and not least <= value <= most:
        unit = field.rpartition("_")[2]
        said = {"unit": unit} if unit in UNITS else {}
        yield Finding("out_of_range", field, data={"least": least, "most": most} | said)
