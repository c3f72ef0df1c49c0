"""Who may see pages of jobs, and signing in."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from jobs.states import State
from pools.models import Pool
from teams.models import Team, User
from tests.factories import make_job, make_team, make_user
from tests.jobs.pages import Page

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice(team: Team, client: Client) -> User:
    user = make_user(team)
    client.force_login(user)
    return user


def test_strangers_find_nothing(alice: User, pool: Pool) -> None:
    job = make_job(alice, pool)
    stranger = Client()
    stranger.force_login(make_user(make_team()))
    for address in ("", "live/", "workers/0/log/"):
        assert stranger.get(f"/jobs/{job.key}/{address}").status_code == 404
    assert stranger.post(f"/jobs/{job.key}/stop/").status_code == 404
    assert stranger.get(f"/jobs/{job.key}/progress/").status_code == 404
    assert job.key not in stranger.get("/jobs/").content.decode()
    assert job.key not in stranger.get(f"/jobs/states/?keys={job.key}&newest={job.key}").content.decode()
    job.refresh_from_db()
    assert job.state == State.QUEUED


@pytest.mark.parametrize(
    "address",
    ["/jobs/", "/jobs/create/", "/jobs/jo-0123456789abcdef/", "/jobs/jo-0123456789abcdef/workers/0/log/"],
)
def test_signing_in_comes_first(address: str) -> None:
    assert Client().get(address)["Location"].startswith("/accounts/login/?next=")


@pytest.mark.parametrize("demo", [True, False])
def test_the_sign_in_page_names_the_demo_accounts(client: Client, settings: Any, demo: bool) -> None:
    settings.DEMO = demo
    assert ("Demo accounts" in client.get("/accounts/login/").content.decode()) is demo


def test_after_a_wrong_password_the_cursor_is_in_its_field(client: Client) -> None:
    page = Page(client.get("/accounts/login/"))
    assert [e.attrs["name"] for e in page.elements if "autofocus" in e.attrs] == ["username"]
    page = Page(client.post("/accounts/login/", {"username": "alice", "password": "wrong"}))
    assert [e.attrs["name"] for e in page.elements if "autofocus" in e.attrs] == ["password"]
