"""Variables that are set in two places: the page or the platform, and the command. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobs.command.lines import line_fix
from jobs.command.paths import public_variables
from jobs.command.reading import Reading, reading
from jobs.command.shell import parsed
from jobs.command.simple import Assignment
from jobs.environment import injected_names
from jobs.findings import Finding, Fix, Level
from jobs.spec import JobSpec
from jobs.states import Framework
from pools.capacity import Shape

_WHERE_WORKERS_MEET = frozenset({"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK"})


def variable_findings(spec: JobSpec, shape: Shape | None) -> Iterator[Finding]:
    """The command wins: what page or platform say is not what the script sees."""
    read = reading(spec.command, public_variables(spec.env))
    if read is None:
        return
    of_page = {v.name: None if v.private else v.value for v in spec.env}
    injected = injected_names(spec.framework) if spec.framework in set(Framework) else ()
    seen: set[str] = set()
    for assignment in _lasting(read):
        name, value = assignment.name, assignment.value
        if name in seen or _goes_on_from_itself(assignment):
            continue
        if name in injected and value.certain:
            seen.add(name)
            yield _over_injected(spec, assignment, shape)
        elif name in of_page and value.value != of_page[name]:
            seen.add(name)
            yield Finding("variable_twice", "command", Level.HINT, {"name": name, "line": assignment.line})


def _lasting(read: Reading) -> Iterator[Assignment]:
    return (a for a in read.assignments if a.certain and not a.only_for)


def _goes_on_from_itself(assignment: Assignment) -> bool:
    """`PATH=/a:$PATH` and `A=${A:-1}` keep what was there."""
    return re.search(rf"\$\{{?{assignment.name}\b", assignment.value.raw) is not None


def _over_injected(spec: JobSpec, assignment: Assignment, shape: Shape | None) -> Finding:
    name, line = assignment.name, assignment.line
    apart = shape is not None and shape.workers > 1 and name in _WHERE_WORKERS_MEET
    level = Level.WARNING if apart else Level.HINT
    return Finding(
        "injected_overwritten", "command", level, {"name": name, "line": line}, _without(spec, assignment)
    )


def _without(spec: JobSpec, assignment: Assignment) -> Fix | None:
    """The line taken away, if it holds nothing else; else the assignment, if others follow it."""
    script = parsed(spec.command)
    if script is None or assignment.line < 1:
        return None
    written = f"{assignment.name}={assignment.value.raw}"
    text = script.lines(assignment.line, assignment.line)
    if text.strip() in (written, f"export {written}", f"{written};", f"export {written};"):
        return Fix("command", text, "", assignment.line)
    if not re.search(rf"export {re.escape(written)} [A-Za-z_]\w*=", text):
        return None
    return line_fix(spec.command, assignment.line, f"export {written}", "export")
