"""The notices behind a person's bell: how many are new, the list of them, and reading them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils import timezone

from alerts.message import Told
from alerts.models import Reading
from alerts.subjects import told
from teams.models import User

MOST_COUNTED = 99


@dataclass(frozen=True, slots=True)
class Unread:
    """How many notices are unread, up to a bound, and the newest of them (0: none)."""

    count: int = 0
    newest: int = 0

    @property
    def more(self) -> bool:
        return self.count > MOST_COUNTED

    @property
    def label(self) -> str:
        return f"{MOST_COUNTED}+" if self.more else str(self.count)

    @property
    def seen(self) -> str:
        """A name for what the bell shows: it is another one whenever something came or was read."""
        return f"{self.count}-{self.newest}"


@dataclass(frozen=True, slots=True)
class Line:
    """A notice in the list, as it is told to its reader."""

    reading: Reading
    told: Told

    @property
    def unread(self) -> bool:
        return self.reading.read_at is None


def unread_read(user: User) -> Unread:
    """In one query, along an index of what is unread."""
    newest = list(_unread(user).order_by("-pk").values_list("pk", flat=True)[: MOST_COUNTED + 1])
    return Unread(len(newest), newest[0]) if newest else Unread()


def lines_read(user: User, size: int, before: int | None = None) -> list[Line]:
    """The newest ones, or those before the one with this id, in the language that is active."""
    readings = Reading.objects.filter(user=user).select_related("notice")
    if before is not None:
        readings = readings.filter(pk__lt=before)
    return _lines(readings.order_by("-pk")[:size])


def reading_done(*, reading: Reading) -> None:
    """Somebody has followed it; when they did so first is kept."""
    Reading.objects.filter(pk=reading.pk, read_at=None).update(read_at=timezone.now())


def readings_done(*, user: User, upto: int | None = None) -> int:
    """Marks all as read, or those up to the newest that the reader had before them; how many were not."""
    unread = _unread(user)
    if upto is not None:
        unread = unread.filter(pk__lte=upto)
    return unread.update(read_at=timezone.now())


def _unread(user: User) -> QuerySet[Reading]:
    return Reading.objects.filter(user=user, read_at=None)


def _lines(readings: Iterable[Reading]) -> list[Line]:
    return [Line(reading, told(reading.notice)) for reading in readings]
