"""Second looks at a request: what is allowed, and often not what was meant. Pure; never an error.

Silent where it is not sure: a false alarm teaches people to overlook the true ones.
"""

from __future__ import annotations

from collections import Counter

from jobs.command.exits import exit_findings
from jobs.command.launching import launch_findings
from jobs.command.secrets import secret_findings
from jobs.command.steps import step_findings
from jobs.command.unmounted import path_findings
from jobs.command.variables import variable_findings
from jobs.command.workspace import workspace_findings
from jobs.facts import Facts
from jobs.findings import Finding
from jobs.spec import JobSpec
from pools.capacity import Shape

MOST_OF_A_CODE = 5  # more of the same say no more


def advise(spec: JobSpec, facts: Facts, shape: Shape | None) -> list[Finding]:
    """Warnings and hints about the start command and what surrounds it; `shape` None: not known yet."""
    told = (
        *exit_findings(spec.command),
        *launch_findings(spec, shape),
        *step_findings(spec, shape),
        *variable_findings(spec, shape),
        *secret_findings(spec),
        *path_findings(spec, facts),
        *workspace_findings(spec, facts),
    )
    seen: Counter[str] = Counter()
    kept = []
    for finding in told:
        seen[finding.code] += 1
        if seen[finding.code] <= MOST_OF_A_CODE:
            kept.append(finding)
    return kept
