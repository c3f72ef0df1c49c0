"""How notices are told: each app registers it for what it is the home of, as alerts know none of them."""

from __future__ import annotations

from collections.abc import Callable

from alerts.message import Told
from alerts.models import Notice

# Of a notice, in the language that is active; with the last lines of output where asked for and there.
Telling = Callable[[Notice, bool], Told]

_tellings: dict[str, Telling] = {}


def telling_set(subject: str, telling: Telling) -> None:
    _tellings[subject] = telling


def told(notice: Notice, *, log: bool = False) -> Told:
    """KeyError if no app tells of such a subject."""
    return _tellings[notice.subject](notice, log)
