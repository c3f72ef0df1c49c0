"""Check results that a word in the start command brings about: for tests of how results are shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from jobs.findings import Finding, Fix, Level
from jobs.spec import JobSpec

CODE = "control_character"  # any with a sentence that needs no data


def advised(spec: JobSpec, *_facts: Any) -> list[Finding]:
    """Takes the place of `jobs.advice.advise`."""
    found = [replace(f, data={"line": n}) for n, f in _of_lines(spec.command.split("\n"))]
    return [*found, *_of_values(spec)]


def _of_lines(lines: list[str]) -> Iterator[tuple[int, Finding]]:
    for n, line in enumerate(lines, start=1):
        finding = Finding(CODE, "command", Level.WARNING)
        if "| tee" in line and "set -o pipefail" not in lines:
            yield n, replace(finding, fix=Fix("command", "", "set -o pipefail", 1))
        if " || true" in line:
            yield n, replace(finding, fix=Fix("command", line, line.replace(" || true", ""), n))
        if line == "sleep 9":
            yield n, replace(finding, fix=Fix("command", line, "", n))
        if line == "no way":
            yield n, replace(finding, level=Level.HINT)
        if line == "/a/out":
            yield n, replace(finding, leans_on="mounts")


def _of_values(spec: JobSpec) -> Iterator[Finding]:
    if "ddp" in spec.command and spec.framework == "single":
        fix = Fix("framework", "single", "pytorch_ddp")
        yield Finding(CODE, "framework", Level.HINT, fix=fix)
    if "public" in spec.command and not spec.public_data:
        yield Finding(CODE, "public_data", Level.WARNING, fix=Fix("public_data", "false", "true"))
    if "three" in spec.command and spec.worker_count != 3:
        yield Finding(CODE, "worker_count", Level.HINT, fix=Fix("worker_count", str(spec.worker_count), "3"))
