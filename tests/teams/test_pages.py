"""A person's own pages: preferences, the team that is shown, and tokens."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from teams.models import ApiToken
from teams.services import token_create
from tests.factories import PASSWORD, make_team, make_user
from tests.jobs.pages import Page

pytestmark = pytest.mark.django_db


def test_preferences_are_kept_with_the_person_and_brought_by_signing_in(client: Client) -> None:
    user = make_user(make_team())
    client.force_login(user)
    sent = client.post("/settings/preferences/", {"language": "zh-hans", "next": "/settings/"})
    assert sent["Location"] == "/settings/"
    client.post("/settings/preferences/", {"theme": "dark"})
    page = Page(client.get("/settings/"))
    assert page.all("html")[0].attrs == {"lang": "zh-hans", "data-bs-theme": "dark"}

    elsewhere = Client()
    assert Page(elsewhere.get("/accounts/login/")).all("html")[0].attrs["lang"] == "en"
    elsewhere.post("/accounts/login/", {"username": user.username, "password": PASSWORD})
    assert Page(elsewhere.get("/settings/")).all("html")[0].attrs["lang"] == "zh-hans"


def test_a_choice_can_be_taken_back(client: Client) -> None:
    client.force_login(user := make_user(make_team()))
    client.post("/settings/preferences/", {"theme": "dark", "language": "zh-hans"})
    client.post("/settings/preferences/", {"theme": "auto", "language": "auto"})
    assert Page(client.get("/settings/")).all("html")[0].attrs == {"lang": "en"}
    user.refresh_from_db()
    assert (user.theme, user.language) == ("", "")


def test_strangers_choose_for_their_browser(client: Client) -> None:
    assert client.post("/settings/preferences/", {"language": "zh-hans"})["Location"] == "/"
    assert Page(client.get("/accounts/login/")).all("html")[0].attrs["lang"] == "zh-hans"


@pytest.mark.parametrize("sent", [{"language": "xx"}, {"theme": "pink"}])
def test_what_there_is_not_cannot_be_chosen(client: Client, sent: dict[str, str]) -> None:
    answer = client.post("/settings/preferences/", sent)
    assert answer.status_code == 400
    assert not answer.cookies


@pytest.mark.parametrize("address", ["https://elsewhere.example/", "//elsewhere.example", "javascript:x", ""])
def test_the_way_back_stays_in_the_console(client: Client, address: str) -> None:
    answer = client.post("/settings/preferences/", {"theme": "dark", "next": address})
    assert answer["Location"] == "/"


def test_a_forged_theme_is_not_drawn(client: Client) -> None:
    client.cookies["theme"] = '"><script>'
    assert "data-bs-theme" not in Page(client.get("/accounts/login/")).all("html")[0].attrs


def test_switching_teams(client: Client) -> None:
    first, second, foreign = make_team("first"), make_team("second"), make_team("foreign")
    client.force_login(make_user(first, second))
    assert "All my teams" in client.get("/settings/").content.decode()
    client.post("/settings/team/", {"team": str(second.pk), "next": "/settings/"})
    shown = Page(client.get("/settings/"))
    assert [e.text.strip() for e in shown.all("span", class_="ty-team")] == ["second"]
    assert client.post("/settings/team/", {"team": str(foreign.pk)}).status_code == 404
    assert client.post("/settings/team/", {"team": "x"}).status_code == 404
    client.post("/settings/team/", {"team": ""})
    assert "All my teams" in client.get("/settings/").content.decode()


def test_a_person_of_one_team_has_nothing_to_switch(client: Client) -> None:
    client.force_login(make_user(make_team("only")))
    page = Page(client.get("/settings/"))
    assert [e.text for e in page.all("span", class_="ty-team")] == ["only"]
    assert not [e for e in page.all("form") if e.attrs.get("action") == "/settings/team/"]


def test_a_token_is_shown_once_works_and_can_be_revoked(client: Client) -> None:
    client.force_login(make_user(make_team()))
    made = client.post("/settings/tokens/", {"name": "laptop"})
    assert made["Location"] == "/settings/#tokens"  # so that a reload makes no other
    token = Page(client.get("/settings/")).by_id("new-token").attrs["value"]
    assert token
    again = client.get("/settings/").content.decode()
    assert token not in again
    assert "laptop" in again
    script = Client(headers={"Authorization": f"Token {token}"})
    assert script.get("/api/v1/me/").status_code == 200
    row = ApiToken.objects.get()
    assert row.used_at is not None
    assert (timezone.now() - row.used_at).total_seconds() < 60
    client.post(f"/settings/tokens/{row.pk}/revoke/")
    assert script.get("/api/v1/me/").status_code == 401
    client.post(f"/settings/tokens/{row.pk}/revoke/")
    assert "revoked already" in client.get("/settings/").content.decode()


def test_a_page_never_replaces_a_token(client: Client) -> None:
    user = make_user(make_team())
    token, _ = token_create(user=user, name="cluster")
    client.force_login(user)
    answer = client.post("/settings/tokens/", {"name": "cluster"})
    assert answer.status_code == 422
    assert "There is a token of this name" in answer.content.decode()
    assert Client(headers={"Authorization": f"Token {token}"}).get("/api/v1/me/").status_code == 200


@pytest.mark.parametrize("address", ["", "tokens/", "team/", "preferences/", "tokens/1/revoke/"])
def test_the_address_of_a_form_leads_to_its_page(client: Client, address: str) -> None:
    client.force_login(make_user(make_team()))
    assert client.get(f"/settings/{address}", follow=True).status_code == 200


@pytest.mark.parametrize("name", ["", "   ", "x" * 81])
def test_a_bad_name_makes_no_token(client: Client, name: str) -> None:
    client.force_login(make_user(make_team()))
    assert client.post("/settings/tokens/", {"name": name}).status_code == 422
    assert not ApiToken.objects.exists()


def test_nobody_revokes_the_token_of_another(client: Client) -> None:
    token_create(user=make_user(make_team()), name="mine")
    client.force_login(make_user(make_team()))
    client.post(f"/settings/tokens/{ApiToken.objects.get().pk}/revoke/")
    assert ApiToken.objects.count() == 1
    assert "mine" not in client.get("/settings/").content.decode()
