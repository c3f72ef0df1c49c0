"""What became of a job's notices: on its page, on a page of its own, and by REST."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from alerts.models import Channel, Delivery
from alerts.rules import State, Subject
from jobs.models import Job
from teams.models import User
from tests.alerts.made import make_rule
from tests.alerts.notices import deliver
from tests.factories import make_channel, make_job, make_pool, make_team, make_user
from tests.jobs.pages import Page

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
ODD = '训练-🚀 "q" <img src=x onerror=alert(1)> ../../x (1)'


@pytest.fixture
def alice() -> User:
    return make_user(make_team())


@pytest.fixture
def job(alice: User) -> Job:
    return make_job(alice, make_pool(alice.memberships.get().team), name=ODD)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def deliver_of(job: Job, user: User, **fields: Any) -> Delivery:
    delivery = deliver(make_channel(user, **fields), team=job.team, subject_id=job.pk, name=job.name)
    Delivery.objects.filter(pk=delivery.pk).update(
        state=State.REFUSED, tries=1, error={"code": "status", "data": {"status": 404}}
    )
    return delivery


def address(job: Job) -> str:
    return f"/jobs/{job.key}/deliveries/"


def test_the_page_of_a_job_asks_for_it_where_there_is_any(alice: User, job: Job) -> None:
    client = signed_in(alice)
    page = Page(client.get(f"/jobs/{job.key}/"))
    assert "No channel is told of this job." in page.by_id("alerts").text
    assert 'id="deliveries"' not in page.source
    deliver_of(make_job(alice, make_pool(job.team)), alice)
    assert 'id="deliveries"' not in client.get(f"/jobs/{job.key}/").content.decode()
    rule = make_rule(make_channel(alice), Subject.JOB, job.pk, "failed")
    assert Page(client.get(f"/jobs/{job.key}/")).by_id("deliveries").attrs["hx-get"] == address(job)
    assert "No notice of this job was sent" in client.get(address(job)).content.decode()
    rule.delete()
    deliver_of(job, alice)
    assert Page(client.get(f"/jobs/{job.key}/")).by_id("deliveries").attrs["hx-get"] == address(job)


def test_event_channel_state_tries_and_error(alice: User, job: Job) -> None:
    deliver_of(job, alice, name=ODD)
    deliver_of(make_job(alice, make_pool(job.team)), alice, name="of another job")
    for headers in (HTMX, {}):
        page = Page(signed_in(alice).get(address(job), headers=headers))
        said = " ".join(page.all("table")[0].text.split())
        assert f"Failed {' '.join(ODD.split())} Webhook refused" in said
        assert "The receiver answered with HTTP status 404." in said
        assert "<img src=x" not in page.source
        assert "of another job" not in page.source


def test_it_answers_only_when_something_changed(alice: User, job: Job) -> None:
    client = signed_in(alice)
    shown = str(Page(client.get(address(job), headers=HTMX)).by_id("deliveries").attrs["hx-get"])
    assert client.get(shown, headers=HTMX).status_code == 204
    deliver_of(job, alice)
    assert client.get(shown, headers=HTMX).status_code == 200


def test_of_somebodys_private_channel_team_mates_learn_only_the_kind(alice: User, job: Job, api: Any) -> None:
    private = deliver_of(job, alice, name="alice-private")
    shared = deliver_of(job, alice, name="for-all", team=job.team)
    mate = make_user(job.team)
    page = signed_in(mate).get(address(job)).content.decode()
    assert "alice-private" not in page
    assert "private channel of somebody else" in page
    assert "for-all" in page
    assert page.count("HTTP status 404") == 1
    rest = f"/api/v1/jobs/{job.key}/deliveries/"
    rows = {row["id"]: row for row in api(mate).get(rest).json()["results"]}
    assert (rows[private.pk]["channel"], rows[private.pk]["channel_name"]) == (None, "")
    assert (rows[private.pk]["kind"], rows[private.pk]["error"]) == ("webhook", None)
    assert rows[shared.pk]["channel_name"] == "for-all"
    assert rows[shared.pk]["error"]["code"] == "status"
    own = api(alice).get(rest).json()["results"]
    assert [row["channel_name"] for row in own] == ["for-all", "alice-private"]


def test_of_a_deleted_channel_nobody_is_told_more_than_the_kind(alice: User, job: Job, api: Any) -> None:
    deliver_of(job, alice, name="alice-private")
    Channel.objects.get().delete()
    for user in (alice, make_user(job.team)):
        page = signed_in(user).get(address(job)).content.decode()
        assert "a deleted channel" in page
        assert "alice-private" not in page
        assert "HTTP status 404" not in page
        (row,) = api(user).get(f"/api/v1/jobs/{job.key}/deliveries/").json()["results"]
        assert (row["channel"], row["channel_name"], row["error"]) == (None, "", None)
        assert (row["kind"], row["state"]) == ("webhook", "refused")


def test_strangers_find_nothing(alice: User, job: Job, api: Any) -> None:
    deliver_of(job, alice)
    stranger = make_user(make_team())
    assert signed_in(stranger).get(address(job)).status_code == 404
    assert api(stranger).get(f"/api/v1/jobs/{job.key}/deliveries/").status_code == 404
    assert Client().get(address(job), headers=HTMX).status_code == 401
    assert Client().get(address(job))["Location"].startswith("/accounts/login/")


def test_listing_costs_the_same_for_many(
    alice: User, job: Job, api: Any, django_assert_num_queries: Any
) -> None:
    client = api(alice)
    for n in (1, 5):
        for _ in range(n):
            deliver_of(job, alice)
        with django_assert_num_queries(2):
            client.get(f"/api/v1/jobs/{job.key}/deliveries/")
