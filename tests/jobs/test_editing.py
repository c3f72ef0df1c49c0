"""Changing priority, description and tags of a job, by REST and on its page."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from jobs.counting import counts_compare
from jobs.editing import Edit, job_edit
from jobs.models import Job
from jobs.scheduling import queue_cycle
from jobs.states import Priority
from tests.factories import make_job, make_pool, make_team, make_user, occupy
from tests.jobs.pages import Page

pytestmark = pytest.mark.django_db


@pytest.fixture
def user(team):
    return make_user(team)


@pytest.fixture
def pool(team):
    pool = make_pool(team, nodes=1)
    occupy(pool, [8])
    return pool


@pytest.fixture
def job(user, pool):
    return make_job(user, pool, tags=("a", "b"))


def address(job):
    return f"/api/v1/jobs/{job.key}/"


def edit(api, user, job, **body):
    return api(user).patch(address(job), body, format="json")


def errors(response):
    return response.status_code, [(e["code"], e["attr"]) for e in response.json()["errors"]]


def test_a_waiting_job_gets_another_priority(api, user, pool, job):
    younger = make_job(user, pool)
    told = edit(api, user, job, priority="low")
    assert (told.status_code, told.json()["priority"], told.json()["queue"]["position"]) == (200, "low", 2)
    assert api(user).get(address(younger)).json()["queue"]["position"] == 1
    event = job.events.last()
    assert (event.code, event.actor) == ("priority_changed", user)
    assert event.data == {"old": "normal", "new": "low"}
    events = api(user).get(f"{address(job)}events/").json()["results"]
    assert events[-1]["message"] == "priority changed from normal to low"
    assert [wrong.what for wrong in counts_compare(pool_id=pool.pk)] == ["holds"]  # those of `occupy`
    assert Job.objects.get(pk=job.pk).request["priority"] == "normal"


def test_high_needs_the_right(api, team, user, job):
    assert errors(edit(api, user, job, priority="high")) == (400, [("priority_needs_right", "priority")])
    admin = make_user(team, admin=True, high=True)
    assert edit(api, admin, job, priority="high").json()["priority"] == "high"
    assert edit(api, user, job, priority="normal").status_code == 200


def test_one_that_waits_no_more_is_a_conflict_and_nothing_changes(api, user, team):
    job = make_job(user, pool := make_pool(team))
    queue_cycle(pool.pk)
    before = Job.objects.values().get(pk=job.pk)
    assert errors(edit(api, user, job, priority="low", description="x")) == (409, [("not_waiting", None)])
    assert Job.objects.values().get(pk=job.pk) == before
    assert edit(api, user, job, description="x").json()["description"] == "x"


def test_tags_and_description_at_any_time(api, user, job):
    told = edit(api, user, job, description="后来的说明", tags=["b", "c", "b"]).json()
    assert (told["description"], told["tags"], told["priority"]) == ("后来的说明", ["b", "c"], "normal")
    assert edit(api, user, job, tags=[]).json()["tags"] == []
    assert edit(api, user, job).status_code == 200
    assert job.events.count() == 1


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"priority": "urgent"}, ("invalid_choice", "priority")),
        ({"description": "x" * 2001}, ("too_long", "description")),
        ({"tags": ["x" * 64]}, ("too_long", "tags.0")),
        ({"tags": [str(n) for n in range(21)]}, ("too_many", "tags")),
        ({"command": "rm"}, ("unknown", "command")),
        ({"state": "succeeded"}, ("read_only", "state")),
        ({"priority": None}, ("null", "priority")),
    ],
)
def test_what_breaks_a_rule_is_named(api, user, job, body, found):
    assert errors(edit(api, user, job, **body)) == (400, [found])


def test_what_was_edited_goes_along_into_copies(api, client, user, job):
    edit(api, user, job, description="newer", tags=["c", "a"])
    body = api(user).get(f"{address(job)}clone/").json()
    assert (body["description"], body["tags"]) == ("newer", ["c", "a"])
    again = api(user).post(f"{address(job)}rerun/", {}, format="json").json()
    assert (again["description"], again["tags"]) == ("newer", ["c", "a"])
    assert (again["origin"]["kind"], again["origin"]["differences"]) == ("rerun", [])
    client.force_login(user)
    form = Page(client.get("/jobs/create/", {"from": job.key})).fields()
    assert (form["description"], form["tags"]) == (["newer"], ["c, a"])
    edit(api, user, Job.objects.get(key=again["id"]), tags=["a"])
    told = api(user).get(f"/api/v1/jobs/{again['id']}/").json()["origin"]["differences"]
    assert [(one["field"], one["old"], one["new"]) for one in told] == [("tags", ["c", "a"], ["a"])]


@pytest.mark.django_db(transaction=True)
def test_two_edits_of_tags_at_a_time_come_one_after_the_other(user, job):
    start = Barrier(2)

    def change(tags):
        try:
            start.wait(timeout=20)
            job_edit(job=Job.objects.get(pk=job.pk), actor=user, edit=Edit(tags=tags))
        finally:
            connection.close()

    for _ in range(10):
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(change, [("x", "y"), ("y", "x", "z")]))
        left = list(job.tags.order_by("pk").values_list("name", flat=True))
        assert left in (["x", "y"], ["y", "x", "z"])


def test_who_may(api, team, user, job):
    assert edit(api, make_user(team, admin=True), job, priority="low").status_code == 200
    assert edit(api, make_user(team), job, priority="normal").status_code == 403
    assert edit(api, make_user(make_team()), job, priority="normal").status_code == 404
    assert Job.objects.get().priority == 2


def test_the_page_changes_it(client, user, pool, job):
    client.force_login(user)
    page = Page(client.get(f"/jobs/{job.key}/"))
    assert page.by_id("priority").attrs["href"] == f"/jobs/{job.key}/priority/"
    question = client.get(f"/jobs/{job.key}/priority/").content.decode()
    assert 'value="high"' not in question
    assert "needs a right" in question
    done = client.post(f"/jobs/{job.key}/priority/", {"priority": "low"}, follow=True).content.decode()
    assert "The priority is low now." in done
    assert "Priority changed from normal to low" in done
    refused = client.post(f"/jobs/{job.key}/priority/", {"priority": "high"}, follow=True)
    assert "Your team admin has not granted you high priority." in refused.content.decode()


def test_the_page_says_that_it_came_too_late(client, team, user):
    client.force_login(user)
    job = make_job(user, pool := make_pool(team))
    queue_cycle(pool.pk)
    question = client.get(f"/jobs/{job.key}/priority/", headers={"HX-Request": "true"}).content.decode()
    assert "does not wait any more" in question
    assert 'type="radio"' not in question
    late = client.post(f"/jobs/{job.key}/priority/", {"priority": "low"}, follow=True).content.decode()
    assert "its priority stays as it was" in late
    assert Job.objects.get().priority == 1


def test_only_those_who_may_are_asked(client, team, job):
    client.force_login(make_user(team))
    assert 'id="priority"' not in client.get(f"/jobs/{job.key}/").content.decode()
    assert client.get(f"/jobs/{job.key}/priority/").status_code == 403
    assert client.post(f"/jobs/{job.key}/priority/", {"priority": "low"}).status_code == 403


def test_a_high_priority_that_somebody_gave_may_stay(client, user, pool, job):
    Job.objects.filter(pk=job.pk).update(priority=Priority.HIGH)
    client.force_login(user)
    question = Page(client.get(f"/jobs/{job.key}/priority/"))
    assert [e.attrs["value"] for e in question.all("input", name="priority") if "checked" in e.attrs] == [
        "high"
    ]
    done = client.post(f"/jobs/{job.key}/priority/", {"priority": "high"}, follow=True).content.decode()
    assert "has not granted" not in done
