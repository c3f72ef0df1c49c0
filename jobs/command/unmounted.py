"""Folders and scripts that a command needs, and that lie on no mounted volume: often a slip. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from itertools import islice

from jobs.command.lines import line_fix
from jobs.command.paths import TRAINERS, public_variables
from jobs.command.places import MOST_FINDINGS, PUBLIC_DATA, place_findings, within
from jobs.command.reading import Reading, reading
from jobs.command.scripts import absolute_path, folder_of, script_of
from jobs.command.simple import names
from jobs.command.words import Word
from jobs.facts import Facts
from jobs.findings import Finding, Level
from jobs.spec import JobSpec

_OF_THE_IMAGE = re.compile(
    r"/(app|bin|boot|dev|etc|lib\w*|opt|proc|root|run|sbin|srv|sys|tmp|usr|var|workspace)(/|\Z)"
)
_SHARED = re.compile(r"/(mnt|nfs|gpfs|lustre|ceph\w*|share\w*|datasets?|data\d*)/")
_CHANGES_NOTHING = TRAINERS | names(
    "cd pushd popd ls cat head tail source . echo du df find export exec stat wc"
)
_WHOLE_NEAR = 0.8  # of get_close_matches: one or two letters of a short path
_PART_NEAR = 0.6  # each part by itself, so that /mnt/a is not near to /mnt/b
_SHORTEST_NAME = 3
MOST_NEEDED = 32  # folders and scripts of one command that are looked at: each costs a look at all others


@dataclass(frozen=True, slots=True)
class _Mount:
    path: str
    names: frozenset[str]  # what the volume is called, in small letters


def path_findings(spec: JobSpec, facts: Facts) -> Iterator[Finding]:
    """All that is to be said about paths and mounts; what is not there is told once."""
    missing = list(_not_mounted(spec, facts))
    roots = [_root(finding.data["path"]) for finding in missing]
    yield from missing
    for finding in place_findings(spec, facts):
        told = finding.code == "path_lost" and finding.level is Level.HINT
        if not told or not any(within(finding.data["path"], root) for root in roots):
            yield finding


def _not_mounted(spec: JobSpec, facts: Facts) -> Iterator[Finding]:
    read = reading(spec.command, public_variables(spec.env))
    mounts = _mounts(spec, facts)
    if read is None or read.broken or not mounts:
        return
    told: list[str] = []
    brought = frozenset(filter(None, _brought(read)))
    for word in islice(_needed(read), MOST_NEEDED):
        path = absolute_path(word)
        if not path or _may_be_there(path, mounts, brought):
            continue
        near = _near(path, mounts)
        if near is None and not _SHARED.match(path + "/"):
            continue
        if not any(within(path, root) for root in told) and len(told) < MOST_FINDINGS:
            told.append(_root(path))
            yield _found(spec, read, word, near or (path, ""))


def _root(path: str) -> str:
    """`/mnt/data` of `/mnt/data/a/b`: where a volume would be mounted."""
    return "/".join(path.split("/")[:3])


def _mounts(spec: JobSpec, facts: Facts) -> list[_Mount]:
    found = []
    for mount in spec.mounts:
        if mount.mount_path.startswith("/"):
            path = posixpath.normpath(mount.mount_path)
            volume = facts.volumes.get(mount.volume)
            called = (posixpath.basename(path), volume.name if volume else "")
            found.append(
                _Mount(path, frozenset(n.lower() for n in called if len(n) >= _SHORTEST_NAME)),
            )
    return found


def _needed(read: Reading) -> Iterator[Word]:
    """Folders and scripts without which the command does not go on; not those that are only tried."""
    for i, command in enumerate(read.commands):
        word = folder_of(command)
        other = read.commands[i + 1] if i + 1 < len(read.commands) else None
        tried = other is not None and not other.certain and other.program == command.program
        silenced = any(r.target.value == "/dev/null" for r in command.redirects)
        if word is not None and (tried or silenced):
            continue
        word = word or script_of(command)
        if word is not None and command.certain:
            yield word


def _may_be_there(path: str, mounts: Sequence[_Mount], brought: Collection[str]) -> bool:
    """On a volume or above one, in the image, or put there or looked for by the command itself."""
    if any(within(path, mount.path) or within(mount.path, path) for mount in mounts):
        return True
    if within(path, PUBLIC_DATA) or _OF_THE_IMAGE.match(path):
        return True
    return any(within(path, other) or within(other, path) for other in brought)


def _brought(read: Reading) -> Iterator[str]:
    yield from (absolute_path(word) for word in read.others)
    for command in read.commands:
        if command.program not in _CHANGES_NOTHING:
            yield from (absolute_path(word.part(_value(word))) for word in command.words)
            yield from (absolute_path(r.target) for r in command.redirects if r.writes)
        elif command.program not in TRAINERS:
            yield from (absolute_path(r.target) for r in command.redirects if r.writes)


def _value(word: Word) -> str:
    """What follows `=` in an option."""
    return word.value if word.value.startswith("/") else word.value.partition("=")[2]


def _near(path: str, mounts: Sequence[_Mount]) -> tuple[str, str] | None:
    """The beginning of `path` that looks like a mount, and that mount path."""
    parts = path.split("/")
    for mount in mounts:
        start = "/".join(parts[: mount.path.count("/") + 1])
        if get_close_matches(start, [mount.path], 1, _WHOLE_NEAR) and _parts_near(start, mount.path):
            return start, mount.path
    for i in (1, 2):
        called = [m for m in mounts if i < len(parts) and parts[i].lower() in m.names]
        if len(called) == 1:
            return "/".join(parts[: i + 1]), called[0].path
    return None


def _parts_near(one: str, other: str) -> bool:
    """Whether no part differs by much, nor by its number: data1 and data2 are meant as they are."""
    pairs = list(zip(one.split("/"), other.split("/"), strict=True))
    numbered = all(re.sub(r"\d+", "0", a) == re.sub(r"\d+", "0", b) for a, b in pairs)
    return not numbered and all(SequenceMatcher(None, a, b).ratio() >= _PART_NEAR for a, b in pairs)


def _found(spec: JobSpec, read: Reading, word: Word, near: tuple[str, str]) -> Finding:
    path, right = near
    data = {"path": path, "line": word.line} | ({"near": right} if right else {})
    lines = dict.fromkeys((word.line, *_lines_with(path, read)))
    fixes = (line_fix(spec.command, line, path, right) for line in lines) if right else ()
    fix = next((fix for fix in fixes if fix is not None), None)
    return Finding("path_not_mounted", "command", Level.WARNING, data, fix, leans_on="mounts")


def _lines_with(path: str, read: Reading) -> Iterator[int]:
    """Where variables get it, of which the word may be made."""
    assignments = (*read.assignments, *(a for command in read.commands for a in command.assigned))
    yield from (a.line for a in assignments if within(a.value.start, path))
