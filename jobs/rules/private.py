"""Whose private values a request may use again, unread."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.facts import Facts
from jobs.findings import Finding
from jobs.spec import EnvVar, JobSpec


def private_sources(spec: JobSpec, facts: Facts) -> Iterator[Finding]:
    """Values that somebody else has entered only run what they were entered for: who changes team, image or
    command enters values of their own."""
    for i, variable in enumerate(spec.env):
        if variable.from_job is not None and (code := _refused(variable, facts)):
            yield Finding(
                code,
                f"env.{i}.from_job",
                data={"name": variable.name[:80], "job": variable.from_job[:80]},
            )


def _refused(variable: EnvVar, facts: Facts) -> str:
    if not variable.private:
        return "private_source_in_clear"
    source = facts.sources.get(variable.from_job or "")
    if source is None or variable.name not in source.owners:
        return "private_source_unknown"
    mine = source.owners[variable.name] == facts.user
    return "" if mine or source.unchanged else "private_enter_anew"
