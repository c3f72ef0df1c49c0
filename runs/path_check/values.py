"""What a path check asks and what it has found. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from jobs.command.paths import Use, use_of_name
from jobs.findings import Finding

MOST_PATHS = 64
MOST_SCRIPTS = 8
MOST_PATH_BYTES = 4095
MOST_SCRIPT_BYTES = 16 * 2**10
MOST_OUTPUT_BYTES = 2**20  # of the program: well above all that it can say


class Kind(StrEnum):
    FOLDER = "folder"
    FILE = "file"
    OTHER = "other"
    MISSING = "missing"
    BROKEN_LINK = "broken_link"
    HIDDEN = "hidden"  # a folder above it may not be entered
    NO_ANSWER = "no_answer"


class Created(StrEnum):
    MADE = "made"
    FAILED = "failed"
    REFUSED = "refused"  # it would not lie on a volume that the job may write


class ScriptState(StrEnum):
    READ = "read"
    TOO_LONG = "too_long"
    MISSING = "missing"
    NO_FILE = "no_file"
    UNREADABLE = "unreadable"
    ELSEWHERE = "elsewhere"  # on no volume: it belongs to the image
    NO_ANSWER = "no_answer"


_ENDING = re.compile(r"[^/]\.[A-Za-z]\w{0,9}\Z")
THERE = frozenset({Kind.FOLDER, Kind.FILE, Kind.OTHER})


@dataclass(frozen=True, slots=True)
class Mount:
    """Where the job sees a volume, or the public data: then `volume` is None."""

    mount_path: str
    read_only: bool
    volume: int | None = None
    name: str = ""

    def holds(self, path: str) -> bool:
        return f"{path}/".startswith(f"{self.mount_path}/")


@dataclass(frozen=True, slots=True)
class PathAsked:
    """`origins` are the fields that name it: `mounts`, `public_data`, `command`, `env.NAME`, `paths` …"""

    path: str
    origins: tuple[str, ...] = ()
    create: bool = False


@dataclass(frozen=True, slots=True)
class ScriptAsked:
    """A script that the start command calls."""

    path: str


@dataclass(frozen=True, slots=True)
class PathSeen:
    """`mount` is the number of the mount on which it lies, or would lie; `parent` is the nearest path above a
    missing one that exists, `creatable` tells that a folder could be made there and would be kept."""

    path: str
    origins: tuple[str, ...]
    kind: Kind
    readable: bool = False
    writable: bool = False
    executable: bool = False
    mount: int | None = None
    parent: str | None = None
    creatable: bool = False
    created: Created | None = None

    @property
    def exists(self) -> bool:
        return self.kind in THERE

    @property
    def awaited(self) -> bool:
        """A missing folder that only variables for results name, such as OUTPUT_DIR, and that could be made:
        the job may do so."""
        if self.kind is not Kind.MISSING or not self.creatable or self.created or named_as_file(self.path):
            return False
        return bool(self.origins) and all(_for_results(origin, self.path) for origin in self.origins)


@dataclass(frozen=True, slots=True)
class ScriptSeen:
    path: str
    state: ScriptState
    findings: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    paths: tuple[PathSeen, ...] = ()
    scripts: tuple[ScriptSeen, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Result:
        """The inverse of `as_json`."""
        return cls(
            tuple(_path_seen(**path) for path in data["paths"]),
            tuple(_script_seen(**script) for script in data["scripts"]),
        )


def _path_seen(kind: str, origins: Iterable[str], created: str | None, **fields: Any) -> PathSeen:
    made = Created(created) if created else None
    return PathSeen(kind=Kind(kind), origins=tuple(origins), created=made, **fields)


def _script_seen(path: str, state: str, findings: Iterable[Mapping[str, Any]]) -> ScriptSeen:
    return ScriptSeen(path, ScriptState(state), tuple(findings))


def _for_results(origin: str, path: str) -> bool:
    head, _dot, name = origin.partition(".")
    return head == "env" and use_of_name(name, path) is Use.RESULT


def named_as_file(path: str) -> bool:
    """Whether the name has an ending such as `.py`: a folder of that name is hardly what is missing."""
    return _ENDING.search(path) is not None


def plain_path(path: str) -> str:
    """Without doubled and trailing slashes. `..` stays: where it leads depends on links."""
    return "/" + "/".join(part for part in path.split("/") if part not in ("", "."))


def is_proper(path: str) -> bool:
    """Whether it is an absolute path that a system can be asked about."""
    if not path.startswith("/") or "\0" in path:
        return False
    try:
        return len(path.encode()) <= MOST_PATH_BYTES
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


def merged(asked: Iterable[PathAsked]) -> tuple[PathAsked, ...]:
    """Each path once, with all its origins, in the order in which they were first named."""
    found: dict[str, PathAsked] = {}
    for one in asked:
        path = plain_path(one.path)
        known = found.get(path, PathAsked(path))
        origins = tuple(dict.fromkeys(known.origins + one.origins))
        found[path] = replace(known, origins=origins, create=known.create or one.create)
    return tuple(found.values())


def create_refused(create: Sequence[str], mounts: Sequence[Mount]) -> list[Finding]:
    """Folders that may not be made, by their place in `create`: those that would not be kept, or that lead
    through `..`. Improper paths are not judged."""
    refused = []
    for i, given in enumerate(create):
        path = plain_path(given)
        keeps = any(mount.holds(path) and not mount.read_only for mount in mounts)
        if is_proper(given) and (not keeps or ".." in path.split("/")):
            refused.append(Finding("create_not_on_volume", f"create.{i}", data={"path": path}))
    return refused
