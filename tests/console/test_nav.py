"""The rooms at the side: each page of the console is in one of them, or in the account menu."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.contrib.auth.models import AnonymousUser
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver

from tests.factories import make_job, make_pool, make_team, make_user
from tests.jobs.pages import Page

OTHER_PROGRAMS = ("admin/", "api/")
NO_PAGE = {"healthz", "logout", "preferences", "team-switch", "token-revoke"}
IN_ACCOUNT_MENU = {"settings", "token-new"}


def names(resolver: URLResolver) -> set[str]:
    found: set[str] = set()
    for one in resolver.url_patterns:
        if isinstance(one, URLResolver):
            found |= set() if str(one.pattern).startswith(OTHER_PROGRAMS) else names(one)
        elif isinstance(one, URLPattern) and not str(one.pattern).startswith(OTHER_PROGRAMS):
            found.add(str(one.name))
    return found


def current(template: str, name: str) -> int:
    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    request.resolver_match = SimpleNamespace(url_name=name)  # type: ignore[assignment]
    return render_to_string(template, request=request).count("aria-current")


@pytest.mark.parametrize("name", sorted(names(get_resolver()) - NO_PAGE - IN_ACCOUNT_MENU))
def test_every_page_is_in_one_room(name: str) -> None:
    assert current("includes/nav.html", name) == 1


@pytest.mark.parametrize("name", sorted(IN_ACCOUNT_MENU))
def test_a_persons_own_pages_are_in_no_room(name: str) -> None:
    assert current("includes/nav.html", name) == 0


@pytest.mark.django_db
def test_the_room_is_marked_on_the_page(client: Client) -> None:
    pool = make_pool(team := make_team())
    client.force_login(user := make_user(team))
    job = make_job(user, pool)
    for address, room in [
        (f"/jobs/{job.key}/stop/", "/jobs/"),
        (f"/jobs/{job.key}/progress/", "/jobs/"),
        (f"/pools/{pool.pk}/", "/pools/"),
        ("/settings/", "/settings/"),
    ]:
        page = Page(client.get(address))
        marked = {a.attrs["href"] for a in page.all("a") if a.attrs.get("aria-current") == "page"}
        assert room in marked, address
