"""Reruns: what of a request a modified one may change, and what follows from that. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jobs.facts import PoolFacts
from jobs.findings import Change, Finding
from jobs.rules import rdma_allowed
from jobs.spec import EnvVar, JobSpec

HANG = ("hang_detection", "hang_timeout_seconds", "hang_action")
RESOURCES = ("spec", "worker_count", "custom_gpus", "flavor")
CHANGEABLE = ("command", "image", *RESOURCES, *HANG, "private_env")
GONE = ("pool_unknown", "spec_unknown", "flavor_unknown", "image_unknown", "volume_unknown")


@dataclass(frozen=True, slots=True)
class Changes:
    """What a modified rerun asks for: fields of CHANGEABLE by name, and private values entered anew."""

    fields: Mapping[str, Any]
    private: tuple[EnvVar, ...] = ()


NOTHING = Changes({})


@dataclass(frozen=True, slots=True)
class Repeater:
    """Who asks for a job once more: whether they may use high priority in its team, and which channels."""

    may_use_high: bool
    channels: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class Rerun:
    """The request of a rerun. `follows` tells what became different without being asked for."""

    spec: JobSpec
    follows: tuple[Change, ...]
    modified: bool


def rerun_of(asked: JobSpec, key: str, changes: Changes, pool: PoolFacts | None, repeater: Repeater) -> Rerun:
    """The request `asked` of the job `key` once more, its private values by reference to that job."""
    asked, allowed = allowed_to(repeater, asked)
    plain = replace(asked, env=_referring(asked.env, key, ()))
    spec = replace(plain, **_settled(asked, changes.fields), env=_referring(asked.env, key, changes.private))
    follows = [*allowed]
    if spec.rdma and pool is not None and not rdma_allowed(spec, pool) and _touches(changes, RESOURCES):
        spec = replace(spec, rdma=False)
        follows.append(Change("rdma_off"))
    return Rerun(spec, tuple(follows), modified=spec != plain)


def allowed_to(repeater: Repeater, asked: JobSpec) -> tuple[JobSpec, tuple[Change, ...]]:
    """The request as somebody may repeat it, and what becomes different."""
    asked, lowered = _priority_allowed(asked, may_use_high=repeater.may_use_high)
    asked, left_out = _alerts_allowed(asked, repeater.channels)
    return asked, lowered + left_out


def _priority_allowed(asked: JobSpec, *, may_use_high: bool) -> tuple[JobSpec, tuple[Change, ...]]:
    if may_use_high or asked.priority != "high":
        return asked, ()
    return replace(asked, priority="normal"), (Change("priority_lowered"),)


def _alerts_allowed(asked: JobSpec, channels: Collection[int]) -> tuple[JobSpec, tuple[Change, ...]]:
    """Nobody has messages sent to a private channel of somebody else."""
    alerts = asked.alerts or ()
    kept = tuple(alert for alert in alerts if alert.channel in channels)
    if len(kept) == len(alerts):
        return asked, ()
    return replace(asked, alerts=kept), (Change("alerts_left_out", {"n": len(alerts) - len(kept)}),)


def unknown_private(asked: JobSpec, private: Iterable[EnvVar]) -> list[Finding]:
    """Values for variables that the job does not have as private ones, or given twice."""
    known = {v.name for v in asked.env if v.private}
    found, seen = [], set()
    for i, variable in enumerate(private):
        data = {"name": variable.name[:80]}
        if variable.name not in known:
            found.append(Finding("not_private_there", f"private_env.{i}.name", data=data))
        elif variable.name in seen:
            found.append(Finding("env_duplicate", f"private_env.{i}.name", data=data))
        seen.add(variable.name)
    return found


def in_words_of_rerun(
    findings: Iterable[Finding], asked: JobSpec, spec: JobSpec, frozen: Mapping[str, Any]
) -> list[Finding]:
    """What keeps a rerun from being created: of things of the job itself that are gone, with their names."""
    return [_named(finding, asked, spec, frozen) for finding in findings]


def fields_of_rerun(findings: Iterable[Finding], spec: JobSpec, private: Sequence[EnvVar]) -> list[Finding]:
    """The same under the fields of a rerun's body, which has no `env`."""
    return [replace(f, field=_field(f.field, spec, [v.name for v in private])) for f in findings]


def _settled(asked: JobSpec, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with what excludes them taken out, unless it is asked for as well: that the rules refuse."""
    goes: dict[str, Any] = {}
    if fields.get("custom_gpus") is not None:
        goes = {"spec": None, "worker_count": None}
    elif asked.custom and ("custom_gpus" in fields or fields.get("spec") is not None):
        goes = {"custom_gpus": None, "flavor": None}
    return goes | dict(fields)


def _referring(env: Sequence[EnvVar], key: str, private: Iterable[EnvVar]) -> tuple[EnvVar, ...]:
    entered = {v.name: v.value for v in private}
    return tuple(
        variable
        if not variable.private
        else EnvVar(variable.name, entered[variable.name], private=True)
        if variable.name in entered
        else EnvVar(variable.name, None, private=True, from_job=key)
        for variable in env
    )


def _touches(changes: Changes, names: Iterable[str]) -> bool:
    return any(name in changes.fields for name in names)


def _named(finding: Finding, asked: JobSpec, spec: JobSpec, frozen: Mapping[str, Any]) -> Finding:
    head, _dot, rest = finding.field.partition(".")
    if finding.code not in GONE or "retired" in finding.data or getattr(asked, head) != getattr(spec, head):
        return finding
    one = frozen["mounts"][int(rest.partition(".")[0])] if head == "mounts" else frozen[head] or {}
    name = one.get("reference") or one.get("name") or ""
    return replace(finding, data={**finding.data, "gone": name}) if name else finding


def _field(field: str, spec: JobSpec, entered: Sequence[str]) -> str:
    head, _dot, rest = field.partition(".")
    at, _dot, part = rest.partition(".")
    if field == "env" and entered:
        return "private_env"
    if head != "env" or not at.isdecimal() or not spec.env[int(at)].private:
        return field
    name = spec.env[int(at)].name
    return f"private_env.{entered.index(name)}.{part}" if name in entered else "private_env"
