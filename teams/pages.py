"""How every page of the console behaves: who is asking, whose things are shown, and parts of pages that are
asked for again and again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.cache import patch_vary_headers
from django.utils.functional import SimpleLazyObject
from django.utils.http import url_has_allowed_host_and_scheme

from teams.models import THEMES, Team, User
from teams.services import team_of_session

View = Callable[..., HttpResponse]
NOT_CHANGED = 204  # nothing to swap
THEME_COOKIE = "theme"
ZONE_COOKIE = "timezone"  # written by page.js
SESSION_TEAM = "team"
TEAMS_READ = "_teams_read"
DIGEST_SIGNS = 12  # an address holds one for each row
MOST_DIGITS = 18  # of a number that a database column holds


def signed_in(request: HttpRequest) -> User:
    """Who is asking, in a view that only signed-in people reach."""
    if not isinstance(request.user, User):
        raise TypeError("this view needs a signed-in user")
    return request.user


def teams_of(request: HttpRequest) -> list[Team]:
    """The teams of whoever is asking, read once a request; none for a stranger."""
    if not isinstance(request.user, User):
        return []
    if not hasattr(request, TEAMS_READ):
        setattr(
            request, TEAMS_READ, list(Team.objects.filter(memberships__user=request.user).order_by("name"))
        )
    read: list[Team] = getattr(request, TEAMS_READ)
    return read


def chosen_team(request: HttpRequest) -> Team | None:
    """The team whose things pages show; None: those of all teams of the person."""
    return team_of_session(teams=teams_of(request), chosen=request.session.get(SESSION_TEAM))


def frame(request: HttpRequest) -> dict[str, Any]:
    """Context of every page: the theme, and the teams to choose from, read only where they are drawn."""
    teams = SimpleLazyObject(lambda: teams_of(request))
    chosen = SimpleLazyObject(
        lambda: team_of_session(teams=list(teams), chosen=request.session.get(SESSION_TEAM)) or ""
    )
    theme = request.COOKIES.get(THEME_COOKIE, "")
    return {"theme": theme if theme in dict(THEMES) else "", "my_teams": teams, "my_team": chosen}


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


def current_path(request: HttpRequest) -> str:
    """The address, without its host, of the page on which htmx asks; empty for whatever is none of ours."""
    try:
        return request.htmx.current_url_abs_path or ""  # type: ignore[attr-defined]  # django-htmx
    except ValueError:  # no address at all
        return ""


def plain_id(text: str | None) -> int | None:
    """The number that an address names; None for whatever no row can have."""
    well_formed = text and text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS
    return int(text) if text and well_formed else None


def digest(text: str) -> str:
    """A name for what is shown: with the same name there is nothing to swap under the reader's hands."""
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_SIGNS]


def wants_part(request: HttpRequest) -> bool:
    """Whether htmx asks for a part. Going back in history wants a whole page, as a link does."""
    headers = request.headers
    return "HX-Request" in headers and "HX-History-Restore-Request" not in headers


def posted(otherwise: str) -> Callable[[View], View]:
    """A view that only a form leads to: whoever comes by its address alone, after signing in or from another
    language, is sent to the page named `otherwise`."""

    def decorate(view: View) -> View:
        @wraps(view)
        def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            return view(request, *args, **kwargs) if request.method == "POST" else redirect(otherwise)

        return inner

    return decorate


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


def part_or_page(view: View) -> View:
    """A part of a page for htmx; for everybody else a page of its own, which asks strangers to sign in."""
    as_part, as_page = part(view), fresh(login_required(view))

    @wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        answer = (as_part if wants_part(request) else as_page)(request, *args, **kwargs)
        patch_vary_headers(answer, ["HX-Request"])
        return answer

    return inner
