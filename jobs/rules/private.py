"""Whose private values a request may use again, unread."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.facts import Facts
from jobs.findings import Finding
from jobs.spec import EnvVar, JobSpec


def private_sources(spec: JobSpec, facts: Facts) -> Iterator[Finding]:
    """Values that somebody else has entered only run what they were entered for (`runs_the_same`): whoever
    changes that enters values of their own."""
    for i, variable in enumerate(spec.env):
        if variable.from_job is not None and (code := _refused(variable, facts)):
            yield Finding(
                code,
                f"env.{i}.from_job",
                data={"name": variable.name[:80], "job": variable.from_job[:80]},
            )


def runs_the_same(spec: JobSpec, source: JobSpec, key: str) -> bool:
    """Whether the request runs what the job `key` runs, which asked for `source`: all that can put another
    program in the place of the one that was given the private values. A mounted volume can cover a script,
    and variables such as BASH_ENV, PATH or LD_PRELOAD can load one; so values typed anew count as changed."""
    kept = all(v.from_job == key for v in spec.env if v.private)
    return kept and _running(spec) == _running(source)


def _running(spec: JobSpec) -> tuple[object, ...]:
    variables = sorted((v.name, v.private, v.value or "") for v in spec.public().env)
    mounts = sorted((mount.mount_path, mount.volume) for mount in spec.mounts)
    return (spec.team, spec.image, spec.command, spec.framework, spec.public_data, variables, mounts)


def _refused(variable: EnvVar, facts: Facts) -> str:
    if not variable.private:
        return "private_source_in_clear"
    source = facts.sources.get(variable.from_job or "")
    if source is None or variable.name not in source.owners:
        return "private_source_unknown"
    if variable.name in source.unreadable:
        return "private_source_unreadable"
    mine = source.owners[variable.name] == facts.user
    return "" if mine or source.unchanged else "private_enter_anew"
