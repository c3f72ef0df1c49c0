"""What another team or pool left no room for in the form: kept by the page until it can be chosen again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import astuple, dataclass

MOST_KEPT = 100
MOST_SIGNS = 50_000
NAME = "laid_aside"  # of the field that carries it


@dataclass(frozen=True, slots=True)
class Aside:
    """A value of a field with the name to tell it by. `more` is what else belongs to it: the GPUs of a spec,
    the mount path of a volume."""

    field: str
    value: str
    name: str
    more: str = ""


class LaidAside:
    """In the order in which the values were laid aside."""

    def __init__(self, text: str) -> None:
        self._kept = _parsed(text)

    def put(self, aside: Aside) -> None:
        self._kept = [one for one in self._kept if _key(one) != _key(aside)] + [aside]

    def holds(self, field: str) -> bool:
        return any(one.field == field for one in self._kept)

    def take(self, field: str, fits: Callable[[str], bool] = bool) -> list[Aside]:
        """All values of the field that fit again. They are not kept any longer: who chose another meanwhile
        does not get them back later."""
        taken = [one for one in self._kept if one.field == field and fits(one.value)]
        self._kept = [one for one in self._kept if one not in taken]
        return taken

    def __str__(self) -> str:
        """As the page carries it; empty if there is nothing."""
        kept = [astuple(one) for one in self._kept[-MOST_KEPT:]]
        return json.dumps(kept, ensure_ascii=False) if kept else ""


def _key(aside: Aside) -> tuple[str, str, str]:
    return aside.field, aside.value, aside.more


def _parsed(text: str) -> list[Aside]:
    """Nothing of what this module did not write: the page may have come from anywhere."""
    try:
        rows = json.loads(text) if text and len(text) <= MOST_SIGNS else []
    except (ValueError, RecursionError):
        return []
    if not isinstance(rows, list):
        return []
    return [Aside(*row) for row in rows[-MOST_KEPT:] if _well_formed(row)]


def _well_formed(row: object) -> bool:
    return isinstance(row, list) and len(row) == len(Aside.__slots__) and all(map(_is_text, row))


def _is_text(value: object) -> bool:
    """Half of a surrogate pair cannot be sent back."""
    return isinstance(value, str) and not any("\ud800" <= sign <= "\udfff" for sign in value)
