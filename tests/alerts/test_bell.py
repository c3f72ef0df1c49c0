"""The bell on every page, the list of notices, and reading them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from alerts.inbox import MOST_COUNTED, unread_read
from alerts.models import Reading
from teams.models import User
from tests.alerts.notices import make_notice
from tests.factories import make_pool, make_team, make_user
from tests.jobs.pages import CREATE, Page

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
ODD = '训练-🚀 "q" <img src=x onerror=alert(1)> ../../x (1)'


@pytest.fixture
def alice(client: Client) -> User:
    user = make_user(make_team())
    client.force_login(user)
    return user


def bell(response: Any) -> str:
    """What a screen reader says of it."""
    return " ".join(Page(response).by_id("bell-count").text.split())


def seen(response: Any) -> str:
    return str(Page(response).by_id("bell-count").attrs["hx-get"])


def test_it_counts_what_is_unread_up_to_a_bound(client: Client, alice: User) -> None:
    assert bell(client.get("/settings/")) == "Notices: none unread"
    make_notice(alice)
    assert bell(client.get("/settings/")) == "1 1 unread notice"
    make_notice(alice)
    make_notice(make_user())
    assert bell(client.get("/settings/")) == "2 2 unread notices"
    for _ in range(MOST_COUNTED - 2):
        make_notice(alice)
    assert bell(client.get("/settings/")) == "99 99 unread notices"
    make_notice(alice)
    assert bell(client.get("/settings/")) == "99+ 99+ unread notices"
    make_notice(alice)
    assert unread_read(alice).count == MOST_COUNTED + 1


def test_it_costs_one_query_on_a_page_and_none_on_a_part(
    client: Client, alice: User, django_assert_num_queries: Any
) -> None:
    for _ in range(3):
        make_notice(alice)
    with django_assert_num_queries(1):
        unread_read(alice)

    def asks(address: str, data: Any = None) -> int:
        with CaptureQueriesContext(connection) as queries:
            client.get(address, data, headers=HTMX if data is not None else {})
        return sum("alerts_reading" in query["sql"] for query in queries)

    assert asks("/settings/") == asks("/jobs/") == asks("/") == asks(CREATE) == 1
    pool = make_pool(alice.memberships.get().team)
    assert asks("/jobs/estimate/", {"pool": pool.pk}) == 0
    assert asks("/home/live/", {}) == 0


def test_nobody_who_has_not_signed_in_has_one(client: Client) -> None:
    assert 'id="bell-count"' not in client.get("/accounts/login/").content.decode()


def test_it_answers_only_when_something_changed(client: Client, alice: User) -> None:
    shown = client.get("/settings/")
    assert client.get(seen(shown), headers=HTMX).status_code == 204
    make_notice(alice)
    changed = client.get(seen(shown), headers=HTMX)
    assert bell(changed) == "1 1 unread notice"
    assert changed["HX-Trigger"] == "notices"
    assert client.get(seen(changed), headers=HTMX).status_code == 204
    Reading.objects.update(read_at=timezone.now())
    make_notice(alice)
    assert client.get(seen(changed), headers=HTMX).status_code == 200


def test_the_menu_has_the_newest_and_the_way_to_all(client: Client, alice: User) -> None:
    assert "No notices yet." in client.get("/alerts/bell/menu/", headers=HTMX).content.decode()
    for n in range(10):
        make_notice(alice, name=f"job {n}.")
    menu = Page(client.get("/alerts/bell/menu/", headers=HTMX))
    titles = [" ".join(e.text.split()) for e in menu.all("strong")]
    assert titles == [f"unread: Failed: job {n}." for n in range(9, 1, -1)]
    assert "/alerts/notices/" in {a.attrs["href"] for a in menu.all("a")}


def test_all_are_read_that_were_there_to_be_seen(client: Client, alice: User) -> None:
    for _ in range(10):
        make_notice(alice)
    menu = Page(client.get("/alerts/bell/menu/", headers=HTMX))
    upto = next(e.attrs["value"] for e in menu.all("input") if e.attrs.get("name") == "upto")
    make_notice(alice, name="came meanwhile")
    after = client.post("/alerts/notices/read/", {"upto": upto}, headers=HTMX)
    assert bell(after) == "1 1 unread notice"
    assert "unread:" in after.content.decode()
    done = client.post("/alerts/notices/read/", {"upto": "x"}, headers=HTMX)
    assert bell(done) == "Notices: none unread"
    assert "Mark all" not in done.content.decode()


def test_without_javascript_the_list_marks_them(client: Client, alice: User) -> None:
    make_notice(alice)
    page = Page(client.get("/alerts/notices/"))
    upto = next(e.attrs["value"] for e in page.all("input") if e.attrs.get("name") == "upto")
    assert client.post("/alerts/notices/read/", {"upto": upto})["Location"] == "/alerts/notices/"
    assert "Mark all as read" not in client.get("/alerts/notices/").content.decode()
    assert client.get("/alerts/notices/read/")["Location"] == "/alerts/notices/"


def test_following_one_reads_it(client: Client, alice: User) -> None:
    make_notice(alice)
    reading = Reading.objects.get()
    one = f"/alerts/notices/{reading.pk}/"
    assert client.head(one).status_code == 302
    assert unread_read(alice).count == 1
    assert client.get(one)["Location"] == "/jobs/jo-0123456789abcdef/"
    assert unread_read(alice).count == 0
    read_at = Reading.objects.get().read_at
    client.get(one)
    assert Reading.objects.get().read_at == read_at


def test_nobody_elses_notice_can_be_followed_or_read(client: Client, alice: User) -> None:
    make_notice(other := make_user())
    assert client.get(f"/alerts/notices/{Reading.objects.get().pk}/").status_code == 404
    client.post("/alerts/notices/read/")
    assert unread_read(other).count == 1
    assert "No notices yet." in client.get("/alerts/notices/").content.decode()


def test_the_list_is_paged_the_newest_first(client: Client, alice: User) -> None:
    for n in range(35):
        make_notice(alice, name=f"job {n}.")
    first = Page(client.get("/alerts/notices/"))
    titles = [
        " ".join(e.text.split()).removeprefix("unread: ") for e in first.all("strong", class_="ty-name")
    ]
    assert titles == [f"Failed: job {n}." for n in range(34, 4, -1)]
    older = next(a.attrs["href"] for a in first.all("a") if a.attrs.get("rel") == "next")
    second = Page(client.get(f"{older}"))
    assert "job 4." in second.source
    assert "job 5." not in second.source
    assert not any(a.attrs.get("rel") == "next" for a in second.all("a"))
    assert "There are no older notices." in client.get("/alerts/notices/?before=1").content.decode()


def test_listing_costs_the_same_for_many(
    client: Client, alice: User, django_assert_num_queries: Any, django_assert_max_num_queries: Any
) -> None:
    make_notice(alice)
    with django_assert_max_num_queries(7) as first:
        client.get("/alerts/notices/")
    for _ in range(20):
        make_notice(alice)
    with django_assert_num_queries(len(first)):
        client.get("/alerts/notices/")


@pytest.mark.usefixtures("chinese")
def test_it_is_told_in_the_readers_language(client: Client, alice: User) -> None:
    make_notice(alice, name="训练")
    chinese = client.get("/alerts/notices/", headers={"accept-language": "zh-CN"}).content.decode()
    assert "失败：训练" in chinese
    assert "退出码" in chinese


def test_odd_names_stay_text(client: Client, alice: User) -> None:
    make_notice(alice, name=ODD)
    for address, headers in (("/alerts/notices/", {}), ("/alerts/bell/menu/", HTMX)):
        page = Page(client.get(address, headers=headers))
        assert "<img src=x" not in page.source
        assert any(ODD in e.text for e in page.all("strong"))
