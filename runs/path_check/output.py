"""Reads what the looking program has said; see `script` for its lines. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from jobs.command.exits import script_findings
from runs.path_check.values import (
    MOST_SCRIPT_BYTES,
    Created,
    Kind,
    Mount,
    PathAsked,
    PathSeen,
    Result,
    ScriptAsked,
    ScriptSeen,
    ScriptState,
)


@dataclass(slots=True)
class _Said:
    """The lines by their first letter and number; of scripts also their bytes."""

    created: dict[int, Created] = field(default_factory=dict)
    paths: dict[int, list[str]] = field(default_factory=dict)
    scripts: dict[int, tuple[ScriptState, bytes]] = field(default_factory=dict)
    ended: bool = False


def result_of(
    output: bytes, paths: Sequence[PathAsked], scripts: Sequence[ScriptAsked], mounts: Sequence[Mount]
) -> Result | None:
    """What was found; None if the program was not able to say it."""
    try:
        said = _said(output)
        if not said.ended:
            return None
        return Result(
            tuple(_path(one, said.paths.get(i), said.created.get(i), mounts) for i, one in enumerate(paths)),
            tuple(_script(one, *said.scripts[i]) for i, one in enumerate(scripts) if i in said.scripts),
        )
    except (ValueError, IndexError):
        return None


def _said(output: bytes) -> _Said:
    said, at = _Said(), 0
    while at < len(output) and not said.ended:
        line, _end, _rest = output[at:].partition(b"\n")
        at += len(line) + 1
        kind, *words = line.decode("ascii").split(" ")
        if kind == "c":
            said.created[int(words[0])] = Created(words[1])
        elif kind == "p":
            said.paths[int(words[0])] = words[1:]
        elif kind == "s":
            size = int(words[3])
            said.scripts[int(words[0])] = ScriptState(words[1]), output[at : at + size]
            at += size + 1
        else:
            said.ended = kind == "end"
            if not said.ended:
                raise ValueError(kind)
    return said


def _path(
    asked: PathAsked, words: list[str] | None, created: Created | None, mounts: Sequence[Mount]
) -> PathSeen:
    if words is None:
        return PathSeen(asked.path, asked.origins, Kind.NO_ANSWER, created=created)
    kind, rights, on, size, can = words
    mount = int(on) if on != "-" else None
    keeps = mount is not None and not mounts[mount].read_only
    seen = PathSeen(
        path=asked.path,
        origins=asked.origins,
        kind=Kind(kind),
        readable="r" in rights,
        writable="w" in rights and (mount is None or keeps),
        executable="x" in rights,
        mount=mount,
        created=created,
    )
    if seen.exists or seen.kind is Kind.NO_ANSWER:
        return seen
    parent = asked.path.encode()[: int(size)].decode("utf-8", "replace")
    return replace(seen, parent=parent, creatable=can == "c" and keeps)


def _script(asked: ScriptAsked, state: ScriptState, data: bytes) -> ScriptSeen:
    if len(data) > MOST_SCRIPT_BYTES:
        return ScriptSeen(asked.path, ScriptState.TOO_LONG)
    found = script_findings(data.decode("utf-8", "replace"), asked.path) if state is ScriptState.READ else ()
    return ScriptSeen(asked.path, state, tuple(finding.as_json() for finding in found))
