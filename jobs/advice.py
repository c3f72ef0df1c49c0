"""Second looks at a request: what is allowed, and often not what was meant. Pure; never an error.

Silent where it is not sure: a false alarm teaches people to overlook the true ones.
"""

from __future__ import annotations

from jobs.facts import Facts
from jobs.findings import Finding
from jobs.spec import JobSpec
from pools.capacity import Shape


def advise(spec: JobSpec, facts: Facts, shape: Shape | None) -> list[Finding]:
    """Warnings and hints about the start command and what surrounds it; `shape` None: not known yet."""
    return []
