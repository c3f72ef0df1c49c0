"""What parts of pages of jobs have in common: times that count on, and a name for what is shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.template.loader import render_to_string

from jobs.texts import duration_text
from teams.pages import digest

_TICKING = re.compile(r'data-elapsed="\d+">[^<]*<')  # counted on by the page itself: no news


@dataclass(frozen=True, slots=True)
class Lasting:
    """How long something took, or has taken up to now; what `ticks` is counted on by the page."""

    seconds: int
    ticks: bool

    @classmethod
    def of(cls, begin: datetime, end: datetime | None, now: datetime) -> Lasting:
        """Never negative, whatever the clocks say."""
        return cls(max(int(((end or now) - begin).total_seconds()), 0), end is None)

    @property
    def text(self) -> str:
        return duration_text(self.seconds)


def rendered(template: str, context: dict[str, Any]) -> tuple[str, str]:
    """A part of a page, and a name for what it shows: with the same name there is nothing to swap.

    Rendered without the request, whose CSRF token differs each time.
    """
    html = render_to_string(template, context)
    return html, digest(_TICKING.sub("", html))
