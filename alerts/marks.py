"""Moments that outlive a process: when something was done last, and since when something is so."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils import timezone

from alerts.models import Mark

BEAT = timedelta(seconds=10)


def mark_beat(key: str) -> None:
    """Notes that it was done just now; what was noted moments ago is not written again."""
    if not Mark.objects.filter(key=key, at__gt=timezone.now() - BEAT).exists():
        mark_move(key, at=timezone.now())


def mark_read(key: str) -> datetime:
    """The moment that is noted; where none is, this one is from now on."""
    return Mark.objects.get_or_create(key=key, defaults={"at": timezone.now()})[0].at


def mark_first(key: str) -> bool:
    """Notes this moment, and answers whether none was noted before."""
    return Mark.objects.get_or_create(key=key, defaults={"at": timezone.now()})[1]


def mark_move(key: str, *, at: datetime) -> None:
    Mark.objects.update_or_create(key=key, defaults={"at": at})


def mark_clear(key: str) -> None:
    Mark.objects.filter(key=key).delete()


def marks_of(prefix: str) -> list[str]:
    """The keys that begin so."""
    return list(Mark.objects.filter(key__startswith=prefix).order_by("pk").values_list("key", flat=True))
