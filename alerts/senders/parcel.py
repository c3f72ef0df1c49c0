"""What is sent, made fit for every kind of channel: plain text in lines, links whole, sizes in bounds."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.translation import gettext

from alerts.message import Told
from alerts.models import Notice
from alerts.signs import plain

CUT = "…"
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Parcel:
    """A notice on its way to one channel. `key` is the same at each try, and no other's. `link` leads to the
    page of the subject."""

    target: str = field(repr=False)
    secret: str = field(repr=False)
    notice: Notice
    told: Told
    link: str
    key: str


def cleaned(told: Told) -> Told:
    """Without signs that are none, and with line breaks only where lines are: a name that brings its own
    cannot pass for another fact."""
    return Told(
        title=_line(told.title) or "Trainyard",
        text=plain(told.text),
        facts=tuple((_line(label), _line(value)) for label, value in told.facts),
        path=told.path,
        log=tuple(_line(line, keep=True) for line in told.log),
        name=_line(told.name),
        id=_line(told.id),
    )


def _line(text: str, *, keep: bool = False) -> str:
    """On one line; `keep` leaves its indentation."""
    line = plain(text)
    return line.replace("\n", " ").rstrip() if keep else _SPACE.sub(" ", line).strip()


def facts_text(told: Told) -> str:
    return "\n".join(f"{label}: {value}" for label, value in told.facts)


def log_text(told: Told) -> str:
    return "\n".join([gettext("Last lines of output:"), *told.log]) if told.log else ""


def blocks(told: Told, link: str) -> list[str]:
    """The message in plain text, from what matters most to what may be long."""
    return [part for part in (told.title, told.text, facts_text(told), link, log_text(told)) if part]


def as_json(document: Any) -> bytes:
    """As it goes over the line: compact, in UTF-8, so that no sign grows to six."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def cut(text: str, characters: int) -> str:
    """At most so many characters, with a mark where some were left out."""
    if len(text) <= characters:
        return text
    return text[: characters - 1] + CUT if characters else ""


# How much there is of a part, and what is told with only so much of it. What goes first comes first.
_Part = tuple[Callable[[Told], int], Callable[[Told, int], Told]]
_PARTS: Sequence[_Part] = (
    (lambda t: max(len(t.log) - 1, 0), lambda t, n: replace(t, log=t.log[len(t.log) - 1 - n :])),
    (lambda t: len("".join(t.log)), lambda t, n: replace(t, log=tuple(cut(x, n) for x in t.log if n))),
    (lambda t: len(t.text), lambda t, n: replace(t, text=cut(t.text, n))),
    (
        lambda t: max((len(value) for _label, value in t.facts), default=0),
        lambda t, n: replace(t, facts=tuple((label, cut(value, n)) for label, value in t.facts)),
    ),
    (lambda t: len(t.facts), lambda t, n: replace(t, facts=t.facts[:n])),
    (lambda t: len(t.title), lambda t, n: replace(t, title=cut(t.title, n))),
)


def fitted(told: Told, size: Callable[[Told], int], most: int) -> Told:
    """As much of it as `size` finds to be at most so large: the oldest lines of output go first, then the end
    of the text, long facts, and of the title only what nothing else makes room for."""
    for part in _PARTS:
        if size(told) <= most:
            return told
        told = _less(told, part, size, most)
    return told


def _less(told: Told, part: _Part, size: Callable[[Told], int], most: int) -> Told:
    amount, only = part

    def size_with(n: int) -> int:
        return size(only(told, n))

    fitting = bisect_right(range(amount(told)), most, key=size_with)
    return only(told, max(fitting - 1, 0))
