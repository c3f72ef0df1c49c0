"""A path check as the page shows it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from jobs.texts import script_finding_text
from runs.models import PathCheck
from runs.path_check.services import places_of
from runs.path_check.texts import (
    AWAITED,
    BETWEEN,
    CREATED,
    KINDS,
    check_reason_text,
    counted_as,
    origin_text,
    script_text,
    summary_text,
)
from runs.path_check.values import Kind, Mount, PathSeen, Result, ScriptSeen, named_as_file
from runs.states import CheckState

WORTH_A_LOOK = ("unreadable", "hidden", "no_answer", "missing")


@dataclass(frozen=True, slots=True)
class Mark:
    name: str
    given: bool


@dataclass(frozen=True, slots=True)
class PathRow:
    path: str
    kind: str
    awaited: bool
    detail: str
    place: str
    lost: bool
    origins: str
    marks: tuple[Mark, ...]
    good: bool
    creatable: bool


@dataclass(frozen=True, slots=True)
class ScriptRow:
    path: str
    text: str
    findings: tuple[tuple[str, int, str], ...]  # level, line from 1 (0: none), and the sentence


@dataclass(frozen=True, slots=True)
class Shown:
    """`waiting` tells that there is no answer yet; `late` that there should have been one long ago."""

    waiting: bool
    late: bool
    failed: str
    summary: str
    paths: tuple[PathRow, ...]
    scripts: tuple[ScriptRow, ...]


def shown_of(check: PathCheck) -> Shown:
    result = Result.from_json(check.result) if check.result else Result()
    places = places_of(check)
    reason = check.reason if check.state == CheckState.FAILED else None
    late_after = timedelta(seconds=3 * settings.PATH_CHECK_SECONDS)
    return Shown(
        waiting=not check.finished,
        late=not check.finished and timezone.now() - check.created_at > late_after,
        failed=check_reason_text(reason["code"], reason["data"]) if reason else "",
        summary=summary_text(result.paths) if check.state == CheckState.DONE else "",
        paths=tuple(_path_row(path, places) for path in result.paths),
        scripts=tuple(_script_row(script) for script in result.scripts),
    )


def _path_row(path: PathSeen, places: list[Mount]) -> PathRow:
    mount = places[path.mount] if path.mount is not None else None
    return PathRow(
        path=path.path,
        kind=str(AWAITED if path.awaited else KINDS[path.kind]),
        awaited=path.awaited,
        detail=_detail(path),
        place=_place(path, mount),
        lost=mount is None and path.kind is not Kind.NO_ANSWER,
        origins=BETWEEN.join(origin_text(origin) for origin in path.origins),
        marks=_marks(path),
        good=counted_as(path) not in WORTH_A_LOOK,
        creatable=path.creatable and not named_as_file(path.path),
    )


def _detail(path: PathSeen) -> str:
    if path.created:
        return str(CREATED[path.created])
    if path.kind is Kind.HIDDEN:
        return _("%(path)s may not be entered") % {"path": path.parent}
    if path.parent is not None and path.kind is Kind.MISSING:
        return _("there is only %(path)s") % {"path": path.parent}
    return ""


def _place(path: PathSeen, mount: Mount | None) -> str:
    if path.kind is Kind.NO_ANSWER:
        return ""
    if mount is None:
        return _("image and system disk: what is written there does not stay")
    if mount.volume is None:
        return _("Public data")
    return _("volume %(name)s") % {"name": mount.name}


def _marks(path: PathSeen) -> tuple[Mark, ...]:
    if not path.exists:
        return ()
    folder = path.kind is Kind.FOLDER
    enter = pgettext("path", "can be entered") if folder else pgettext("path", "executable")
    return (
        Mark(pgettext("path", "readable"), path.readable),
        Mark(pgettext("path", "writable"), path.writable),
        Mark(enter, path.executable),
    )


def _script_row(script: ScriptSeen) -> ScriptRow:
    found = tuple(
        (f["level"], int(f["data"].get("line", 0)), script_finding_text(f["code"], f["data"]))
        for f in script.findings
    )
    return ScriptRow(script.path, script_text(script), found)
