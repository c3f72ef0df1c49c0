"""What two requests ask for differently, field by field; never a private value. Pure."""

from __future__ import annotations

import dataclasses
import posixpath
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jobs.spec import AlertAsked, EnvVar, JobSpec

APART = ("env", "mounts", "alerts")
NAMED = ("team", "pool", "flavor", "spec", "image")


class How(StrEnum):
    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"
    KEPT = "private_kept"  # the value of the earlier job, taken over unread
    ENTERED = "private_entered"  # a private value that was entered for the new job


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, and what the things that it names were called then: `Job.frozen`, with the team. `channels`
    are those whose ids may be told."""

    spec: JobSpec
    frozen: Mapping[str, Any]
    channels: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """`field` is as in the request; a variable is `env.<name>` and a mount `mounts.<path>`. `old` and `new`
    are values as in the request, None where there is none or it is private; the names are those of ids."""

    field: str
    how: How
    old: Any = None
    new: Any = None
    old_name: str = ""
    new_name: str = ""


def differences(old: Asked, new: Asked, kept: Collection[str]) -> tuple[Difference, ...]:
    """In the order of the request. `kept` names the private variables whose value was taken over; they are
    told of as well, so that nobody has to guess."""
    plain = [field.name for field in dataclasses.fields(JobSpec) if field.name not in APART]
    return (
        *(d for name in plain for d in _plain(name, old, new)),
        *_alerts(old, new),
        *_variables(old.spec, new.spec, kept),
        *_mounts(old, new),
    )


def _plain(name: str, old: Asked, new: Asked) -> Iterator[Difference]:
    before, after = _value(name, old.spec), _value(name, new.spec)
    names = (_name(name, old.frozen), _name(name, new.frozen)) if name in NAMED else ("", "")
    if before != after or (
        name == "image" and names[0] != names[1]
    ):  # the same tag, and another image by now
        yield Difference(name, How.CHANGED, before, after, *names)


def _value(name: str, spec: JobSpec) -> Any:
    if name == "worker_count":
        return None if spec.custom else spec.workers_wanted
    value = getattr(spec, name)
    return list(value) if isinstance(value, tuple) else value


def _name(name: str, frozen: Mapping[str, Any]) -> str:
    one = frozen.get(name)
    if not one:
        return ""
    if name == "image":
        return f"{one['reference']}@{one['digest']}" if one.get("digest") else str(one["reference"])
    return str(one["name"])


def _alerts(old: Asked, new: Asked) -> Iterator[Difference]:
    before, after = ([_plain_alert(alert) for alert in asked.spec.alerts or ()] for asked in (old, new))
    if before != after:
        yield Difference("alerts", How.CHANGED, _told(old), _told(new))


def _plain_alert(alert: AlertAsked) -> AlertAsked:
    """In whatever order its events stand."""
    return dataclasses.replace(alert, events=tuple(sorted(set(alert.events))))


def _told(asked: Asked) -> list[dict[str, Any]]:
    return [
        {
            "events": list(alert.events),
            "channel": alert.channel if alert.channel in asked.channels else None,
            "minutes": alert.minutes,
        }
        for alert in asked.spec.alerts or ()
    ]


def _variables(old: JobSpec, new: JobSpec, kept: Collection[str]) -> Iterator[Difference]:
    before, after = ({v.name: v for v in spec.env} for spec in (old, new))
    for name in {**before, **after}:
        one, other = before.get(name), after.get(name)
        if other is not None and other.private:
            how = How.KEPT if name in kept else How.ENTERED
            yield Difference(f"env.{name}", how, _public(one))
        elif one is None or other is None or _public(one) != _public(other) or one.private:
            how = How.ADDED if one is None else How.REMOVED if other is None else How.CHANGED
            yield Difference(f"env.{name}", how, _public(one), _public(other))


def _public(variable: EnvVar | None) -> str | None:
    return None if variable is None or variable.private else variable.value


def _mounts(old: Asked, new: Asked) -> Iterator[Difference]:
    before, after = (
        {posixpath.normpath(m.mount_path): m.volume for m in asked.spec.mounts} for asked in (old, new)
    )
    names = [{m["volume"]: m["name"] for m in asked.frozen.get("mounts", ())} for asked in (old, new)]
    for path in {**before, **after}:
        one, other = before.get(path), after.get(path)
        if one != other:
            how = How.ADDED if one is None else How.REMOVED if other is None else How.CHANGED
            called = (str(names[0].get(one, "")), str(names[1].get(other, "")))
            yield Difference(f"mounts.{path}", how, one, other, *called)
