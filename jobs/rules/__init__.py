"""The rules of the fields: what makes a request wrong, or worth a second look. Pure."""

from __future__ import annotations

from jobs.facts import Facts
from jobs.findings import Finding
from jobs.rules.alerts import alerts
from jobs.rules.basics import basics
from jobs.rules.mounts import mounts, normal_path
from jobs.rules.private import private_sources
from jobs.rules.resources import flavor_of, image, kinds, rdma_allowed, resources, spec_of
from jobs.rules.running import advanced, tolerance
from jobs.rules.startup import command, environment
from jobs.spec import JobSpec

__all__ = ["check", "flavor_of", "normal_path", "rdma_allowed", "spec_of"]


def check(spec: JobSpec, facts: Facts) -> list[Finding]:
    """All findings about the fields, in the order of the form."""
    return [
        *kinds(spec),
        *resources(spec, facts),
        *image(spec, facts),
        *tolerance(spec),
        *command(spec),
        *environment(spec),
        *private_sources(spec, facts),
        *mounts(spec, facts),
        *alerts(spec, facts),
        *basics(spec),
        *advanced(spec, facts),
    ]
