"""How notices are told, and what rules can be on: each app registers it for what it is the home of, as alerts
know none of them."""

from __future__ import annotations

from collections.abc import Callable, Collection

from alerts.message import Told
from alerts.models import Notice

# Of a notice, in the language that is active; with the last lines of output where asked for and there.
Telling = Callable[[Notice, bool], Told]

# Ids and names of all there are now, by name.
Naming = Callable[[], list[tuple[int, str]]]

# The creators, by the ids of those that have not ended.
Living = Callable[[Collection[int]], dict[int, int]]

_livings: dict[str, Living] = {}
_namings: dict[str, Naming] = {}
_tellings: dict[str, Telling] = {}


def telling_set(subject: str, telling: Telling) -> None:
    _tellings[subject] = telling


def told(notice: Notice, *, log: bool = False) -> Told:
    """KeyError if no app tells of such a subject."""
    return _tellings[notice.subject](notice, log)


def naming_set(subject: str, naming: Naming) -> None:
    _namings[subject] = naming


def named(subject: str) -> list[tuple[int, str]]:
    """Ids and names of what rules can be on; KeyError if no app names such a subject."""
    return _namings[subject]()


def living_set(subject: str, living: Living) -> None:
    _livings[subject] = living


def living(subject: str, ids: Collection[int]) -> dict[int, int]:
    """Of these the ones that have not ended, with their creators; KeyError if no app knows such a subject."""
    return _livings[subject](ids)
