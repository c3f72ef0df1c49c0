"""A form that comes after its session's end, or with a token of an earlier one, is not lost."""

from __future__ import annotations

from typing import Any

import pytest
from axes.models import AccessAttempt
from django.test import Client

from jobs.models import Job
from pools.models import Pool
from teams.models import User
from tests.factories import (
    PASSWORD,
    make_image,
    make_pool,
    make_team,
    make_user,
    make_volume,
    make_zone,
    worker_spec,
)
from tests.jobs.pages import Page

pytestmark = pytest.mark.django_db
HERE = {"Origin": "http://testserver"}


@pytest.fixture
def pool() -> Pool:
    zone = make_zone()
    make_image(zone)
    pool = make_pool(team := make_team(), zone=zone)
    make_volume(zone, team)
    return pool


@pytest.fixture
def alice(pool: Pool) -> User:
    return make_user(pool.grants.get().team)


@pytest.fixture
def typed(client: Client, alice: User, pool: Pool) -> dict[str, Any]:
    client.force_login(alice)
    return Page(client.get("/jobs/create/")).fields() | {
        "spec": [str(worker_spec(pool, 1).pk)],
        "command": ["line one\nline “two” & <three>"],
        "env_name": ["PLAIN", "KEY"],
        "env_value": ["x", "sekret-4711"],
        "env_from": ["", ""],
        "env_private": ["1"],
        "name": ["训练-🚀"],
    }


def of_job(fields: dict[str, list[str]]) -> dict[str, list[str]]:
    own = ("seen", "promise", "tried", "draft")
    return {name: [v.strip() for v in values if v] for name, values in fields.items() if name not in own}


def test_a_form_after_the_sessions_end_comes_back_once_signed_in(
    client: Client, alice: User, typed: dict[str, Any]
) -> None:
    client.logout()
    asked = client.post("/jobs/create/", typed)
    assert asked.status_code == 401
    assert "your form is kept" in asked.content.decode()
    draft = Page(asked).all("input", name="draft")[0].attrs["value"]

    assert "sekret" not in asked.content.decode()
    assert "no-store" in asked["Cache-Control"]
    wrong = client.post("/accounts/login/", {"username": alice.username, "password": "x", "draft": draft})
    assert Page(wrong).all("input", name="draft")[0].attrs["value"] == draft
    assert str(draft)[:40] not in AccessAttempt.objects.get().post_data
    back = client.post("/accounts/login/", {"username": alice.username, "password": PASSWORD, "draft": draft})
    assert back.status_code == 200
    assert "nothing was created yet" in back.content.decode()
    assert of_job(Page(back).fields()) == of_job(typed)
    assert not Job.objects.exists()
    assert client.post("/jobs/create/", Page(back).fields()).status_code == 303


def test_whoever_signed_in_elsewhere_meanwhile_gets_the_form_too(
    client: Client, alice: User, typed: dict[str, Any]
) -> None:
    client.logout()
    draft = Page(client.post("/jobs/create/", typed)).all("input", name="draft")[0].attrs["value"]
    client.force_login(alice)
    back = client.post("/accounts/login/", {"username": "", "password": "", "draft": draft})
    assert of_job(Page(back).fields()) == of_job(typed)


def test_a_form_with_an_old_token_comes_back(alice: User, typed: dict[str, Any]) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    answer = strict.post("/jobs/create/", typed | {"csrfmiddlewaretoken": ["x" * 32]}, headers=HERE)
    assert answer.status_code == 403
    assert of_job(Page(answer).fields()) == of_job(typed)
    assert not Job.objects.exists()

    strict.logout()
    asked = strict.post("/jobs/create/", typed, headers=HERE)
    assert asked.status_code == 401
    assert Page(asked).all("input", name="draft")


def test_whoever_signs_in_next_gets_no_private_values(
    client: Client, alice: User, typed: dict[str, Any]
) -> None:
    bob = make_user(alice.memberships.get().team)
    client.logout()
    draft = Page(client.post("/jobs/create/", typed)).all("input", name="draft")[0].attrs["value"]
    back = client.post("/accounts/login/", {"username": bob.username, "password": PASSWORD, "draft": draft})
    assert "filled in by somebody else" in back.content.decode()
    assert "sekret" not in back.content.decode()
    assert Page(back).fields()["name"] == typed["name"]
    assert Page(back).fields()["env_name"] == ["PLAIN", ""]

    sent = client.post("/jobs/create/", typed)  # alice's page, still open in another tab
    assert sent.status_code == 409
    assert "sekret" not in sent.content.decode()
    assert not Job.objects.exists()


def test_a_forged_draft_is_nothing(client: Client, alice: User) -> None:
    sent = {"username": alice.username, "password": PASSWORD, "draft": "command=evil"}
    back = client.post("/accounts/login/", sent)
    assert back.status_code == 200
    assert "evil" not in back.content.decode()


@pytest.mark.parametrize("origin", [{}, {"Origin": "https://elsewhere.example"}, {"Origin": "null"}])
def test_another_site_fills_nobodys_form(alice: User, typed: dict[str, Any], origin: dict[str, str]) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    answer = strict.post("/jobs/create/", typed, headers=origin)
    assert answer.status_code == 403
    assert "sekret" not in answer.content.decode()
    assert "id_command" not in answer.content.decode()
