"""Sentences of the path check, in the reader's language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from jobs.texts import finding_text, reason_text
from runs.path_check.values import MOST_SCRIPT_BYTES, Created, Kind, PathSeen, ScriptSeen, ScriptState

BETWEEN = " · "

REFUSALS = {
    "no_paths": gettext_lazy(
        "There is nothing to look at: no volume is mounted, and no absolute path is named."
    ),
    "path_not_proper": gettext_lazy("A path is absolute, has no NUL character and at most %(most)s bytes."),
    "create_not_on_volume": gettext_lazy(
        "%(path)s cannot be created: only folders on volumes that the job may write, without “..”."
    ),
}

REASONS = {
    "replaced": gettext_lazy("You began another check before this one was done."),
    "too_slow": gettext_lazy("The check took too long and was ended: a file server may be away."),
    "broke_off": gettext_lazy("The check broke off before it could tell anything; try again."),
    "sandbox_unavailable": gettext_lazy("The sandbox of this machine does not work; ask an administrator."),
}

TOO_MANY = gettext_lazy("You have begun many checks within a minute; wait a moment.")

KINDS = {
    Kind.FOLDER: pgettext_lazy("path", "folder"),
    Kind.FILE: pgettext_lazy("path", "file"),
    Kind.OTHER: pgettext_lazy("path", "not a plain file"),
    Kind.MISSING: pgettext_lazy("path", "missing"),
    Kind.BROKEN_LINK: pgettext_lazy("path", "a link that leads nowhere"),
    Kind.HIDDEN: pgettext_lazy("path", "cannot be reached"),
    Kind.NO_ANSWER: pgettext_lazy("path", "no answer in time"),
}

AWAITED = pgettext_lazy("path", "not there yet")

CREATED = {
    Created.MADE: gettext_lazy("created just now"),
    Created.FAILED: gettext_lazy("could not be created"),
    Created.REFUSED: gettext_lazy("not created: it would not lie on a volume that the job may write"),
}

ORIGINS = {
    "mounts": gettext_lazy("mount path"),
    "public_data": pgettext_lazy("of a path", "public data"),
    "command": pgettext_lazy("of a path", "start command"),
    "env": pgettext_lazy("of a path", "environment variable"),
    "paths": gettext_lazy("asked for"),
}

SCRIPTS = {
    ScriptState.TOO_LONG: gettext_lazy("longer than %(most)s KiB, so it was not looked at."),
    ScriptState.MISSING: gettext_lazy("not there."),
    ScriptState.NO_FILE: gettext_lazy("not a plain file."),
    ScriptState.UNREADABLE: gettext_lazy("cannot be read."),
    ScriptState.ELSEWHERE: gettext_lazy("lies on no volume, so it was not looked at."),
    ScriptState.NO_ANSWER: gettext_lazy("no answer in time."),
}

# How paths are counted, the gravest last.
COUNTED = {
    "writable": gettext_lazy("%(n)s readable and writable"),
    "read_only": gettext_lazy("%(n)s readable only"),
    "awaited": gettext_lazy("%(n)s not there yet"),
    "unreadable": gettext_lazy("%(n)s not readable"),
    "hidden": gettext_lazy("%(n)s cannot be reached"),
    "no_answer": gettext_lazy("%(n)s without an answer"),
    "missing": gettext_lazy("%(n)s missing"),
}


def refusal_text(code: str, data: Mapping[str, Any]) -> str:
    """Why nothing is looked at."""
    return str(REFUSALS[code]) % data if code in REFUSALS else finding_text(code, data)


def check_reason_text(code: str, data: Mapping[str, Any]) -> str:
    """Why a check has failed."""
    return str(REASONS[code]) if code in REASONS else reason_text(code, data)


def origin_text(origin: str) -> str:
    head, _dot, name = origin.partition(".")
    if head == "env":
        return _("variable %(name)s") % {"name": name}
    return str(ORIGINS.get(head, head))


def summary_text(paths: Iterable[PathSeen]) -> str:
    """All paths in one line, such as “4 paths: 3 readable and writable · 1 missing”."""
    counted = dict.fromkeys(COUNTED, 0)
    for path in paths:
        counted[counted_as(path)] += 1
    told = BETWEEN.join(str(COUNTED[name]) % {"n": n} for name, n in counted.items() if n)
    n = sum(counted.values())
    return ngettext("%(n)s path: %(told)s", "%(n)s paths: %(told)s", n) % {"n": n, "told": told}


def counted_as(path: PathSeen) -> str:
    if path.awaited:
        return "awaited"
    if path.kind in (Kind.MISSING, Kind.BROKEN_LINK):
        return "missing"
    if not path.exists:
        return str(path.kind)
    if not path.readable or (path.kind is Kind.FOLDER and not path.executable):
        return "unreadable"
    return "writable" if path.writable else "read_only"


def script_text(script: ScriptSeen) -> str:
    """What is to be said of a script besides its check results."""
    if script.state is not ScriptState.READ:
        return str(SCRIPTS[script.state]) % {"most": MOST_SCRIPT_BYTES // 2**10}
    return "" if script.findings else _("nothing in it hides an exit code.")
