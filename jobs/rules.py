"""The rules of the fields: what makes a request wrong, or worth a second look. Pure."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterator, Sequence

from jobs.environment import RESERVED_PREFIX, injected_names
from jobs.facts import Facts, FlavorFacts, PoolFacts, SpecFacts
from jobs.findings import Finding, Level
from jobs.spec import MOST_CUSTOM_GPUS as MOST_CUSTOM_GPUS
from jobs.spec import MOST_WORKERS as MOST_WORKERS
from jobs.spec import EnvVar, JobSpec
from jobs.states import PRIORITY_CODES, Framework, Priority
from pools.capacity import FULL_WORKER

JOB_TYPES = ("training",)
RESOURCE_TYPES = ("prepaid",)
MOST_COMMAND_BYTES = 256 * 2**10
MOST_VARIABLES = 200
MOST_VARIABLE_NAME = 255
MOST_VALUE_BYTES = 32 * 2**10
MOST_ENV_BYTES = 256 * 2**10
MOST_MOUNTS = 64
MOST_NAME = 128
MOST_DESCRIPTION = 2000
MOST_TAGS = 20
MOST_TAG = 63
MOST_GRACE_SECONDS = 3600

MOST_PATH_BYTES = 1000
MOST_NAME_BYTES = 255
BASH_NAMES = """
    BASH BASHOPTS BASHPID BASH_VERSINFO BASH_VERSION EPOCHREALTIME EPOCHSECONDS EUID GROUPS IFS LINENO
    OLDPWD PPID PS4 PWD RANDOM SECONDS SHELLOPTS SHLVL SRANDOM UID _
"""
BASH_SETS_ITSELF = frozenset(BASH_NAMES.split())
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
SYSTEM_TREES = (
    "bin",
    "boot",
    "dev",
    "etc",
    "opt",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "tmp",
)
RESERVED_TREES = (*(f"/{name}" for name in SYSTEM_TREES), "/infini-data")
RESERVED_EXACTLY = ("/", "/home", "/workspace")


def check(spec: JobSpec, facts: Facts) -> list[Finding]:
    """All findings about the fields, in the order of the form."""
    return [
        *_kinds(spec),
        *_resources(spec, facts),
        *_image(spec, facts),
        *_command(spec),
        *_environment(spec),
        *_mounts(spec, facts),
        *_basics(spec, facts),
    ]


def flavor_of(spec: JobSpec, pool: PoolFacts) -> FlavorFacts | None:
    """The flavor that the request lands on; None while it does not say."""
    worker_spec = spec_of(spec, pool)
    if worker_spec is not None:
        return pool.flavors.get(worker_spec.flavor)
    if spec.flavor is not None:
        return pool.flavors.get(spec.flavor)
    return pool.only_flavor


def spec_of(spec: JobSpec, pool: PoolFacts) -> SpecFacts | None:
    if spec.custom or spec.spec is None:
        return None
    return pool.specs.get(spec.spec)


def normal_path(path: str) -> str:
    """A mount path without doubled or trailing slashes."""
    normal = posixpath.normpath(path)
    return "/" + normal.lstrip("/") if path.startswith("/") else normal


def _kinds(spec: JobSpec) -> Iterator[Finding]:
    if spec.job_type not in JOB_TYPES:
        yield Finding("invalid_choice", "job_type")
    if spec.resource_type not in RESOURCE_TYPES:
        yield Finding("invalid_choice", "resource_type")


def _resources(spec: JobSpec, facts: Facts) -> Iterator[Finding]:
    if spec.team is None:
        yield Finding("required", "team")
    elif spec.team not in facts.teams:
        yield Finding("team_unknown", "team")
    if spec.pool is None:
        yield Finding("required", "pool")
    elif facts.pool is None:
        yield Finding("pool_unknown", "pool")
    yield from _counts(spec)
    if facts.pool is not None:
        yield from _in_pool(spec, facts.pool)


def _counts(spec: JobSpec) -> Iterator[Finding]:
    if spec.custom_gpus is None:
        if spec.spec is None:
            yield Finding("required", "spec")
        if not 1 <= spec.workers_wanted <= MOST_WORKERS:
            yield Finding("out_of_range", "worker_count", data={"least": 1, "most": MOST_WORKERS})
        if spec.flavor is not None:
            yield Finding("only_with_custom_gpus", "flavor")
        return
    if not 1 <= spec.custom_gpus <= MOST_CUSTOM_GPUS:
        yield Finding("out_of_range", "custom_gpus", data={"least": 1, "most": MOST_CUSTOM_GPUS})
    for name in ("spec", "worker_count"):
        if getattr(spec, name) is not None:
            yield Finding("excluded_by_custom_gpus", name)


def _in_pool(spec: JobSpec, pool: PoolFacts) -> Iterator[Finding]:
    if spec.custom:
        if spec.flavor is None and pool.only_flavor is None:
            yield Finding("required" if pool.flavors else "pool_without_nodes", "flavor")
        elif spec.flavor is not None and spec.flavor not in pool.flavors:
            yield Finding("flavor_unknown", "flavor")
    elif spec.spec is not None and spec.spec not in pool.specs:
        yield Finding("spec_unknown", "spec")
    if spec.public_data and not pool.public_data:
        yield Finding("public_data_not_offered", "public_data", data={"zone": pool.zone_name})
    if spec.rdma:
        yield from _rdma(spec, pool)


def rdma_allowed(spec: JobSpec, pool: PoolFacts) -> bool:
    """RDMA needs a training network and 8 GPUs in every Worker."""
    return next(_rdma(spec, pool), None) is None


def _rdma(spec: JobSpec, pool: PoolFacts) -> Iterator[Finding]:
    flavor, worker_spec = flavor_of(spec, pool), spec_of(spec, pool)
    if flavor is not None and not flavor.rdma_capable:
        yield Finding("rdma_needs_network", "rdma")
    shape = spec.shape(worker_spec.gpus if worker_spec else None)
    if shape is None or set(shape.gpus_by_rank) != {FULL_WORKER}:
        yield Finding("rdma_needs_full_workers", "rdma")


def _image(spec: JobSpec, facts: Facts) -> Iterator[Finding]:
    if spec.image is None:
        yield Finding("required", "image")
    elif facts.image is None:
        yield Finding("image_unknown", "image")
    else:
        if "job" not in facts.image.services:
            yield Finding("image_not_for_jobs", "image")
        if facts.pool is not None and not facts.image.in_zone:
            yield Finding("image_in_other_zone", "image", data={"zone": facts.pool.zone_name})
    if spec.framework not in set(Framework):
        yield Finding("invalid_choice", "framework")
    yield from _framework_hints(spec)


def _framework_hints(spec: JobSpec) -> Iterator[Finding]:
    custom = spec.custom_gpus or 0
    several = custom > FULL_WORKER or spec.workers_wanted > 1
    single = spec.framework == Framework.SINGLE
    if single and several:
        yield Finding("single_with_several_workers", "framework", Level.HINT)
    if not single and custom > FULL_WORKER and custom % FULL_WORKER:
        yield Finding("unequal_workers", "custom_gpus", Level.HINT)


def _command(spec: JobSpec) -> Iterator[Finding]:
    if not spec.command.strip():
        yield Finding("required", "command")
    if len(spec.command.encode()) > MOST_COMMAND_BYTES:
        yield Finding("too_long", "command", data={"most": MOST_COMMAND_BYTES, "unit": "bytes"})
    if "\0" in spec.command:
        yield Finding("nul_character", "command")


def _environment(spec: JobSpec) -> Iterator[Finding]:
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


def _mounts(spec: JobSpec, facts: Facts) -> Iterator[Finding]:
    seen: dict[str, int] = {}
    if len(spec.mounts) > MOST_MOUNTS:
        yield Finding("too_many", "mounts", data={"most": MOST_MOUNTS})
        return  # comparing each with each costs the square of their number
    for i, mount in enumerate(spec.mounts):
        volume = facts.volumes.get(mount.volume)
        if volume is None:
            yield Finding("volume_unknown", f"mounts.{i}.volume")
        elif facts.pool is not None and volume.zone != facts.pool.zone:
            yield Finding("volume_in_other_zone", f"mounts.{i}.volume", data={"zone": facts.pool.zone_name})
        yield from _mount_path(mount.mount_path, f"mounts.{i}.mount_path", seen)
        seen[normal_path(mount.mount_path)] = i
    if not spec.mounts:
        yield Finding("no_mounts", "mounts", Level.WARNING)


def _mount_path(path: str, field: str, seen: dict[str, int]) -> Iterator[Finding]:
    normal = normal_path(path)
    if not path.startswith("/") or "\0" in path or "\n" in path:
        yield Finding("mount_path_absolute", field)
    elif ".." in path.split("/"):
        yield Finding("mount_path_dots", field)
    elif _reserved(normal):
        yield Finding("mount_path_reserved", field, data={"path": normal})
    elif normal in seen:
        yield Finding("mount_path_duplicate", field, data={"path": normal, "other": seen[normal] + 1})
    elif _too_long(path):
        yield Finding("path_too_long", field, data={"most": MOST_PATH_BYTES, "most_name": MOST_NAME_BYTES})
    else:
        yield from _nested(normal, field, seen)


def _too_long(path: str) -> bool:
    """What the file system would refuse only when the job starts."""
    names = path.encode().split(b"/")
    return len(path.encode()) > MOST_PATH_BYTES or max(map(len, names)) > MOST_NAME_BYTES


def _nested(normal: str, field: str, seen: dict[str, int]) -> Iterator[Finding]:
    """A mount below another would be made through what jobs have put into that volume, links included."""
    for other in seen:
        if normal.startswith(other + "/") or other.startswith(normal + "/"):
            yield Finding("mount_path_nested", field, data={"path": normal, "other": other})


def _reserved(normal: str) -> bool:
    first = normal.split("/")[1]
    return (
        normal in RESERVED_EXACTLY
        or first.startswith("lib")
        or any(normal == tree or normal.startswith(tree + "/") for tree in RESERVED_TREES)
    )


def _basics(spec: JobSpec, facts: Facts) -> Iterator[Finding]:
    if not _visible(spec.name):
        yield Finding("required", "name")
    elif _has_control(spec.name):
        yield Finding("control_character", "name")
    for field, value, most in (
        ("name", spec.name, MOST_NAME),
        ("description", spec.description, MOST_DESCRIPTION),
    ):
        if len(value) > most:
            yield Finding("too_long", field, data={"most": most, "unit": "characters"})
        if "\0" in value:
            yield Finding("nul_character", field)
    yield from _tags(spec)
    yield from _advanced(spec, facts)


def _tags(spec: JobSpec) -> Iterator[Finding]:
    if len(spec.tags) > MOST_TAGS:
        yield Finding("too_many", "tags", data={"most": MOST_TAGS})
    for i, tag in enumerate(spec.tags):
        if not _visible(tag):
            yield Finding("required", f"tags.{i}")
        elif _has_control(tag):
            yield Finding("control_character", f"tags.{i}")
        elif len(tag) > MOST_TAG:
            yield Finding("too_long", f"tags.{i}", data={"most": MOST_TAG, "unit": "characters"})
        elif "\0" in tag:
            yield Finding("nul_character", f"tags.{i}")


def _advanced(spec: JobSpec, facts: Facts) -> Iterator[Finding]:
    if spec.priority not in PRIORITY_CODES:
        yield Finding("invalid_choice", "priority")
    elif Priority.of(spec.priority) == Priority.HIGH and not facts.may_use_high_priority:
        yield Finding("priority_needs_right", "priority")
    if not 0 <= spec.stop_grace_seconds <= MOST_GRACE_SECONDS:
        yield Finding("out_of_range", "stop_grace_seconds", data={"least": 0, "most": MOST_GRACE_SECONDS})


def _visible(text: str) -> bool:
    """Whether there is anything to see: blanks, controls and zero-width signs are nothing."""
    return any(unicodedata.category(sign)[0] not in "ZC" for sign in text)


def _has_control(text: str) -> bool:
    return any(unicodedata.category(sign) == "Cc" for sign in text)
