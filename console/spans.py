"""Spans of time, in the reader's language."""

from __future__ import annotations

from datetime import timedelta

from django.utils.translation import gettext as _

MINUTE, HOUR, DAY = 60, 3600, 86400


def span_text(span: timedelta, *, seconds: bool = False) -> str:
    """Two units at most, never negative. `seconds` tells them of what is shorter than an hour: for spans
    that are over, since a growing one would change under the reader's eyes all the time."""
    s = max(0, int(span.total_seconds()))
    if s < HOUR and seconds:
        minutes, rest = divmod(s, MINUTE)
        text = _("%(minutes)s min %(seconds)s s") if minutes else _("%(seconds)s s")
        return text % {"minutes": minutes, "seconds": rest}
    if s < MINUTE:
        return _("less than 1 min")
    if s < HOUR:
        return _("%(minutes)s min") % {"minutes": s // MINUTE}
    if s < DAY:
        return _("%(hours)s h %(minutes)s min") % {"hours": s // HOUR, "minutes": s % HOUR // MINUTE}
    return _("%(days)s d %(hours)s h") % {"days": s // DAY, "hours": s % DAY // HOUR}
