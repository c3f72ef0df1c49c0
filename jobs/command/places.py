"""Where the paths of a form lie: on a writable volume, on a read-only one, or where all is lost. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from jobs.command.paths import NamedPath, Use, absolute_paths, use_of_name
from jobs.facts import Facts
from jobs.findings import Finding, Fix, Level
from jobs.spec import JobSpec

PUBLIC_DATA = "/infini-data"
FILLED = (Use.RESULT, Use.MADE, Use.WRITTEN)
MOST_FINDINGS = 5  # of each code: more of the same say no more
_OF_THE_IMAGE = re.compile(r"/(bin|boot|etc|lib\w*|opt|run|sbin|srv|usr|var)(/|\Z)")
_OF_THE_JOB = re.compile(r"/(root|workspace|home)/")
_SETTING = re.compile(r"(?i)hosts?(file)?\Z|config|conf\Z|\.(py|sh|pth|env|ya?ml|toml|ini|cfg)\Z")
_SHARED = re.compile(r"/(mnt|nfs|gpfs|lustre|ceph\w*|share\w*|datasets?|data\d*|home/\w+)/")


class Place(StrEnum):
    VOLUME = "volume"
    READ_ONLY = "read_only"
    PUBLIC_DATA = "public_data"
    SYSTEM_DISK = "system_disk"


@dataclass(frozen=True, slots=True)
class _Map:
    """The mount paths of a request, and which of them can only be read."""

    writable: tuple[str, ...]
    read_only: tuple[str, ...]

    def place(self, path: str) -> Place:
        if within(path, PUBLIC_DATA):
            return Place.PUBLIC_DATA
        if any(within(path, mount) for mount in self.read_only):
            return Place.READ_ONLY
        if any(within(path, mount) for mount in self.writable):
            return Place.VOLUME
        return Place.SYSTEM_DISK


def within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def place_findings(spec: JobSpec, facts: Facts) -> Iterator[Finding]:
    """What would be lost, cannot be written, or is not there; all of it depends on the mounts."""
    paths = absolute_paths(spec.command, spec.env)
    places = _map(spec, facts)
    yield from _public_data(spec, facts, paths)
    yield from _read_only(spec, places, paths)
    kept = spec.kept_data
    yield from (replace(f, data={**f.data, **kept}) for f in _lost(places, paths))


def _map(spec: JobSpec, facts: Facts) -> _Map:
    read_only: list[str] = []
    writable: list[str] = []
    for mount in spec.mounts:
        volume = facts.volumes.get(mount.volume)
        path = posixpath.normpath(mount.mount_path)
        (read_only if volume and volume.read_only else writable).append(path)
    return _Map(tuple(writable), tuple(read_only))


def _found(code: str, level: Level, named: NamedPath) -> Finding:
    data = {"path": named.path} | ({"line": named.line} if named.field == "command" else {})
    return Finding(code, named.field, level, data, leans_on="mounts")


def _public_data(spec: JobSpec, facts: Facts, paths: Sequence[NamedPath]) -> Iterator[Finding]:
    """Used while it is switched off; whoever looks first whether it is there knows."""
    used = [p for p in paths if within(p.path, PUBLIC_DATA)]
    if spec.public_data or not used or any(p.use is Use.ASIDE for p in used):
        return
    offered = facts.pool is None or bool(facts.pool.public_data)
    fix = Fix("public_data", "false", "true") if offered else None
    yield replace(_found("public_data_off", Level.WARNING, used[0]), fix=fix, leans_on="public_data")


def _read_only(spec: JobSpec, places: _Map, paths: Sequence[NamedPath]) -> Iterator[Finding]:
    readable = {Place.READ_ONLY, Place.PUBLIC_DATA} if spec.public_data else {Place.READ_ONLY}
    written = [p for p in paths if p.use in FILLED and places.place(p.path) in readable]
    for named in _without_relatives(written):
        yield _found("path_read_only", Level.WARNING, named)


def _lost(places: _Map, paths: Sequence[NamedPath]) -> Iterator[Finding]:
    saved = [p.path for p in paths if p.use is Use.SAVED]
    made = [p.path for p in paths if p.use in (Use.MADE, Use.WRITTEN)]
    candidates: list[tuple[Level, NamedPath]] = []
    for named in paths:
        kept = places.place(named.path) is not Place.SYSTEM_DISK
        if kept or any(within(named.path, s) or within(s, named.path) for s in saved):
            continue
        level = _level(named, made, paths)
        if level is not None:
            candidates.append((level, named))
    candidates.sort(key=lambda one: one[0] is Level.HINT)  # what is surely lost speaks for its folder
    levels = {named: level for level, named in reversed(candidates)}
    for named in _without_relatives([named for _level, named in candidates]):
        yield _found("path_lost", levels[named], named)


def _level(named: NamedPath, made: Sequence[str], paths: Sequence[NamedPath]) -> Level | None:
    """How sure it is that a path off the volumes is a mistake; None: it may well be meant."""
    if named.use is Use.RESULT or (named.use in FILLED and _named_for_results(named.path)):
        return Level.WARNING
    if named.use is Use.WRITTEN and _OF_THE_JOB.match(named.path):
        return None if _serves(named, paths) else Level.WARNING
    if _OF_THE_IMAGE.match(named.path) or named.use in (Use.ASIDE, Use.SAVED):
        return None
    if _SHARED.match(named.path):
        return Level.HINT
    made_here = any(within(named.path, folder) for folder in made)
    if named.use is Use.UNCLEAR and _OF_THE_JOB.match(named.path) and not made_here:
        return Level.HINT
    return None


def _serves(named: NamedPath, paths: Sequence[NamedPath]) -> bool:
    """Whether a file is written for the run itself: the command goes on to use it, or it is a setting."""
    name = posixpath.basename(named.path)
    used = any(other.use not in FILLED and within(named.path, other.path) for other in paths)
    return used or name.startswith(".") or _SETTING.search(name) is not None or "/." in named.path


def _named_for_results(path: str) -> bool:
    """Whether a folder is called `outputs`, `checkpoints`, `logs` …; below /tmp names mean little."""
    return not within(path, "/tmp") and use_of_name(posixpath.basename(path)) is Use.RESULT  # noqa: S108


def _without_relatives(paths: Sequence[NamedPath]) -> list[NamedPath]:
    """The first of those that lie within each other, or side by side where a volume would be mounted."""
    kept: list[NamedPath] = []
    for named in paths:
        roots = (_root(other.path) for other in kept)
        if not any(within(named.path, root) or within(root, named.path) for root in roots):
            kept.append(named)
        if len(kept) == MOST_FINDINGS:
            break
    return kept


def _root(path: str) -> str:
    """`/mnt/data` of `/mnt/data/a/b`; of other paths themselves."""
    return "/".join(path.split("/")[:3]) if _SHARED.match(path + "/") else path
