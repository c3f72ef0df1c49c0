"""The start command and the variables it finds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from jobs.environment import RESERVED_PREFIX, injected_names
from jobs.findings import Finding, Level
from jobs.rules.limits import (
    MOST_COMMAND_BYTES,
    MOST_ENV_BYTES,
    MOST_VALUE_BYTES,
    MOST_VARIABLE_NAME,
    MOST_VARIABLES,
)
from jobs.spec import EnvVar, JobSpec
from jobs.states import Framework

BASH_NAMES = """
    BASH BASHOPTS BASHPID BASH_VERSINFO BASH_VERSION EPOCHREALTIME EPOCHSECONDS EUID GROUPS IFS LINENO
    OLDPWD PPID PS4 PWD RANDOM SECONDS SHELLOPTS SHLVL SRANDOM UID _
"""
BASH_SETS_ITSELF = frozenset(BASH_NAMES.split())
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def command(spec: JobSpec) -> Iterator[Finding]:
    if not spec.command.strip():
        yield Finding("required", "command")
    if len(spec.command.encode()) > MOST_COMMAND_BYTES:
        yield Finding("too_long", "command", data={"most": MOST_COMMAND_BYTES, "unit": "bytes"})
    if "\0" in spec.command:
        yield Finding("nul_character", "command")


def environment(spec: JobSpec) -> Iterator[Finding]:
    if sum(len((v.name + (v.value or "")).encode()) for v in spec.env) > MOST_ENV_BYTES:
        yield Finding("too_long", "env", data={"most": MOST_ENV_BYTES, "unit": "bytes"})
    if len(spec.env) > MOST_VARIABLES:
        yield Finding("too_many", "env", data={"most": MOST_VARIABLES})
        return  # a finding for each of thousands helps nobody
    injected = injected_names(spec.framework) if spec.framework in set(Framework) else ()
    seen: set[str] = set()
    for i, variable in enumerate(spec.env):
        yield from _variable_name(variable.name, f"env.{i}.name", injected, seen)
        yield from _variable_value(variable, f"env.{i}.value")
        seen.add(variable.name)


def _variable_name(name: str, field: str, injected: Sequence[str], seen: set[str]) -> Iterator[Finding]:
    data = {"name": name[:80]}
    if not ENV_NAME.match(name):
        yield Finding("env_name", field, data=data)
    elif len(name) > MOST_VARIABLE_NAME:
        yield Finding("too_long", field, data=data | {"most": MOST_VARIABLE_NAME, "unit": "characters"})
    elif name.startswith(RESERVED_PREFIX) or name in injected:
        yield Finding("env_injected", field, data=data)
    elif name in seen:
        yield Finding("env_duplicate", field, data=data)
    elif name in BASH_SETS_ITSELF:
        yield Finding("env_of_bash", field, Level.WARNING, data)


def _variable_value(variable: EnvVar, field: str) -> Iterator[Finding]:
    value, data = variable.value or "", {"name": variable.name[:80]}
    if len(value.encode()) > MOST_VALUE_BYTES:
        yield Finding("too_long", field, data=data | {"most": MOST_VALUE_BYTES, "unit": "bytes"})
    if "\0" in value:
        yield Finding("nul_character", field, data=data)
