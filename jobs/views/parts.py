"""What the views of pages and of their parts have in common."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.http import url_has_allowed_host_and_scheme

from jobs.texts import duration_text

View = Callable[..., HttpResponse]
NOT_CHANGED = 204
POLL_HTTP_STOP = 286  # htmx's word for “do not ask again”
_TICKING = re.compile(r'data-elapsed="\d+">[^<]*<')  # counted on by the page itself: no news
ZONE_COOKIE = "timezone"  # written by page.js


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


def viewer_zone(request: HttpRequest) -> ZoneInfo:
    """The time zone that the viewer's browser told; UTC while none that exists is known."""
    name = unquote(request.COOKIES.get(ZONE_COOKIE, ""))
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # a path, a folder, no such zone
        return ZoneInfo("UTC")


def address_back(request: HttpRequest, asked: str, otherwise: str) -> str:
    """The page to go on with: the one that was asked for, if it is one of ours."""
    ours = url_has_allowed_host_and_scheme(
        asked, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return asked if ours else otherwise


def wants_part(request: HttpRequest) -> bool:
    """Whether htmx asks for a part. Going back in history wants a whole page, as a link does."""
    headers = request.headers
    return "HX-Request" in headers and "HX-History-Restore-Request" not in headers


def fresh(view: View) -> View:
    """A page that Back must show as it is now, not as it was."""

    @wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        response["Cache-Control"] = "no-store"
        return response

    return inner


def part(view: View) -> View:
    """A view of a part of a page: whoever has been signed out meanwhile gets a bare 401, not a
    sign-in page in the middle of another; never from a cache."""
    answer = fresh(view)

    @wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return answer(request, *args, **kwargs) if request.user.is_authenticated else HttpResponse(status=401)

    return inner


def rendered(template: str, context: dict[str, Any]) -> tuple[str, str]:
    """A part of a page, and a name for what it shows: with the same name there is nothing to swap.

    Rendered without the request, whose CSRF token differs each time.
    """
    html = render_to_string(template, context)
    return html, hashlib.sha256(_TICKING.sub("", html).encode()).hexdigest()[:8]
