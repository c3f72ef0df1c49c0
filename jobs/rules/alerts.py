"""Who is to be told of what: the alerts of a request."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from alerts.rules import JOB_EVENTS, LEAST_MINUTES, MOST_MINUTES, TIMED_JOB_EVENTS
from jobs.facts import Facts
from jobs.findings import Finding, Level
from jobs.rules.limits import MOST_ALERTS
from jobs.spec import AlertAsked, JobSpec
from pools.capacity import Shape

EVENTS = (*JOB_EVENTS, *TIMED_JOB_EVENTS)
MANY_GPUS = 8  # as many as the largest Worker has: hours of them are dear
SHORT_MINUTES = 30  # what is stopped that soon is looked at anyway


def alerts(spec: JobSpec, facts: Facts) -> Iterator[Finding]:
    asked = spec.alerts or ()
    if len(asked) > MOST_ALERTS:
        yield Finding("too_many", "alerts", data={"most": MOST_ALERTS})
        return
    first: dict[tuple[frozenset[str], int, int | None], int] = {}
    for i, one in enumerate(asked):
        before = first.setdefault((frozenset(one.events), one.channel, one.minutes), i)
        if before != i:
            yield Finding("alert_twice", f"alerts.{i}.events", data={"first": before + 1})
        yield from _events(one, f"alerts.{i}.events")
        yield from _minutes(one, f"alerts.{i}.minutes")
        yield from _channel(one, f"alerts.{i}.channel", facts)


def no_alert(spec: JobSpec, shape: Shape | None, *, waits: bool) -> Iterator[Finding]:
    """A hint where somebody will want to know and nobody is told: many GPUs, restarts, or a wait."""
    short = spec.max_runtime_minutes is not None and spec.max_runtime_minutes <= SHORT_MINUTES
    if spec.alerts is None or spec.alerts or shape is None or short:
        return
    if waits or spec.auto_restart or shape.total_gpus >= MANY_GPUS:
        yield Finding("no_alert", "alerts", Level.HINT)


def _events(asked: AlertAsked, field: str) -> Iterator[Finding]:
    if not asked.events:
        yield Finding("required", field)
    elif len(asked.events) > len(EVENTS):
        yield Finding("too_many", field, data={"most": len(EVENTS)})
    else:
        for name in dict.fromkeys(asked.events):
            if name not in EVENTS:
                near = get_close_matches(name[:80], EVENTS, n=1)
                data = {"name": name[:80], "near": near[0]} if near else {"name": name[:80]}
                yield Finding("event_unknown", field, data=data)
        if len(_timed(asked)) > 1:
            yield Finding("two_timed_events", field)


def _minutes(asked: AlertAsked, field: str) -> Iterator[Finding]:
    timed = _timed(asked)
    if asked.minutes is None:
        if timed:
            yield Finding("required", field)
    elif not timed:
        yield Finding("only_with_timed_event", field)
    elif not LEAST_MINUTES <= asked.minutes <= MOST_MINUTES:
        yield Finding(
            "out_of_range", field, data={"least": LEAST_MINUTES, "most": MOST_MINUTES, "unit": "minutes"}
        )


def _channel(asked: AlertAsked, field: str, facts: Facts) -> Iterator[Finding]:
    channel = facts.channels.get(asked.channel)
    if channel is None:
        yield Finding("channel_unknown", field)
    elif channel.disabled:
        yield Finding("channel_disabled", field, Level.WARNING, {"name": channel.name})


def _timed(asked: AlertAsked) -> set[str]:
    return set(asked.events) & set(TIMED_JOB_EVENTS)
