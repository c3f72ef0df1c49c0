"""Which volumes are mounted, and where."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from jobs.facts import Facts
from jobs.findings import Finding, Level
from jobs.rules.limits import MOST_MOUNTS, MOST_NAME_BYTES, MOST_PATH_BYTES
from jobs.spec import JobSpec

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


def normal_path(path: str) -> str:
    """A mount path without doubled or trailing slashes."""
    normal = posixpath.normpath(path)
    return "/" + normal.lstrip("/") if path.startswith("/") else normal


def mounts(spec: JobSpec, facts: Facts) -> Iterator[Finding]:
    seen: dict[str, int] = {}
    if len(spec.mounts) > MOST_MOUNTS:
        yield Finding("too_many", "mounts", data={"most": MOST_MOUNTS})
        return  # comparing each with each costs the square of their number
    for i, mount in enumerate(spec.mounts):
        volume = facts.volumes.get(mount.volume)
        if volume is None:
            data = facts.unknown("volume", mount.volume)
            yield Finding("volume_unknown", f"mounts.{i}.volume", data=data)
        elif facts.pool is not None and volume.zone != facts.pool.zone:
            yield Finding("volume_in_other_zone", f"mounts.{i}.volume", data={"zone": facts.pool.zone_name})
        yield from _mount_path(mount.mount_path, f"mounts.{i}.mount_path", seen)
        seen[normal_path(mount.mount_path)] = i
    if not spec.mounts:
        yield Finding("no_mounts", "mounts", Level.WARNING, spec.kept_data)


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
