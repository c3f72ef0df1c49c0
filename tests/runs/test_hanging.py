"""Hang detection: what is told of silence, once each, and what is done about it."""

import dataclasses
import time

import pytest

from engines.base import Phase, WorkerLook
from jobs.models import Attempt, Job
from jobs.scheduling import queue_cycle
from jobs.services import job_stop
from runs import watching
from tests.factories import make_job, make_pool, make_team, make_user
from tests.jobs.pages import Page
from tests.runs.stand_in import START, attend, codes, exited

pytestmark = pytest.mark.django_db


@pytest.fixture
def place(user):
    """Makes a job whose silence is suspect after 100 s, and places it."""
    pool = make_pool(user.memberships.get().team)

    def make(**fields):
        job = make_job(user, pool, **{"hang_detection": True, "hang_timeout_seconds": 100} | fields)
        queue_cycle(pool.pk)
        job.refresh_from_db()
        return job

    return make


def silent(seconds, rank=0):
    return WorkerLook(rank, Phase.RUNNING, started_at=START, output_at=time.time() - seconds)


@pytest.mark.parametrize(
    ("fields", "does"),
    [
        ({}, "notify"),
        ({"auto_restart": True}, "restart"),
        ({"auto_restart": True, "hang_action": "fail"}, "fail"),
        ({"hang_detection": False}, ""),
    ],
)
def test_what_is_done_is_settled_when_the_job_is_created(place, fields, does):
    job = place(**fields)
    assert (job.hang_action, job.hang_seconds) == (does, 100 if does else None)


def test_each_grade_of_each_silence_is_told_once(engine, place):
    job = place()
    first = silent(150)
    attend(engine, job, silent(1))
    assert "hang_suspected" not in codes(job)
    attend(engine, job, first)
    attend(engine, job, first)
    assert (codes(job).count("hang_suspected"), codes(job).count("hang")) == (1, 0)
    second = silent(250)
    Attempt.objects.update(suspected_at=None)
    attend(engine, job, second)
    attend(engine, job, second)
    assert (codes(job).count("hang_suspected"), codes(job).count("hang")) == (2, 1)
    assert job.events.get(code="hang").data == {"seconds": 200, "action": "notify"}
    attend(engine, job, silent(120))
    assert (codes(job).count("hang_suspected"), codes(job).count("hang")) == (3, 1)
    assert (job.state, engine.stops) == ("running", [])


def test_output_ends_what_was_said_of_the_silence(engine, place, user, api):
    job = place()
    attend(engine, job, silent(250))
    attend(engine, job, silent(250))
    assert hang_by_rest(api, user, job)["state"] == "hung"
    attend(engine, job, silent(1))
    attend(engine, job, silent(2))
    assert codes(job)[-3:] == ["hang_suspected", "hang", "hang_over"]
    assert hang_by_rest(api, user, job) is None
    attend(engine, job, silent(120))
    assert codes(job)[-1] == "hang_suspected"
    assert hang_by_rest(api, user, job)["state"] == "suspected"


def hang_by_rest(api, user, job):
    told = api(user).get(f"/api/v1/jobs/{job.key}/").json()["hang"]
    row = api(user).get("/api/v1/jobs/").json()["results"][0]
    assert row["hang"] == told
    return told


def shown_everywhere(client, job):
    """Where a reader may see that the job hangs, as texts: page, dialog, list, start page and alerts."""
    addresses = (f"/jobs/{job.key}/progress/", "/jobs/", "/", "/alerts/")
    page = Page(client.get(f"/jobs/{job.key}/"))
    texts = [page.by_id("live-head").text, page.by_id("live-trouble").text]
    return texts + [Page(client.get(address)).by_id("content").text for address in addresses]


@pytest.mark.parametrize(
    ("seconds", "action", "says", "does"),
    [
        (150, "restart", "Suspected to hang", "the job goes on"),
        (250, "notify", "Hung", "the job goes on"),
        (250, "restart", "Hung", "this run is being ended, to be restarted"),
        (250, "fail", "Hung", "the job is being ended as failed"),
    ],
)
def test_one_that_hangs_looks_so_everywhere(engine, place, user, client, seconds, action, says, does):
    client.force_login(user)
    job = place(auto_restart=True, hang_action=action)
    attend(engine, job, silent(1))
    assert not [text for text in shown_everywhere(client, job) if says in text]
    attend(engine, job, silent(seconds))
    assert [text for text in shown_everywhere(client, job) if says not in text] == []
    page = Page(client.get(f"/jobs/{job.key}/"))
    told = " ".join(page.by_id("live-trouble").text.split())
    since = Attempt.objects.get().suspected_at
    assert f"{says}: {does}" in told
    assert f"Last output {since:%Y-%m-%d %H:%M:%S} UTC" in told
    assert "no output for 200 s whatever the load" in told
    assert f'href="/jobs/{job.key}/stacks/?attempt=1"' in page.source
    job_stop(job=job, actor=user)
    assert not [text for text in shown_everywhere(client, job)[1:4] if says in text]


def test_strangers_are_told_of_no_hang(engine, place, client):
    attend(engine, place(), silent(250))
    client.force_login(make_user(make_team()))
    assert "Hang" not in Page(client.get("/alerts/")).by_id("content").text


def test_the_end_of_a_hung_run_leads_to_its_stacks(engine, place, user, client):
    client.force_login(user)
    job = place(hang_action="fail")
    attend(engine, job, silent(250))
    attend(engine, job, exited(code=143, stopped=True))
    page = Page(client.get(f"/jobs/{job.key}/"))
    ways = [e.text for e in page.all("a", href=f"/jobs/{job.key}/stacks/?attempt=1")]
    assert ways == ["Stacks before it was ended", *["Stacks"] * 3]  # also at three events


def test_one_that_is_idle_as_well_hangs_sooner(engine, place, user, client):
    job = place(hang_action="fail")
    idle = dataclasses.replace(silent(150), busy_at=time.time() - 110)
    attend(engine, job, idle)
    attend(engine, job, idle)
    assert codes(job).count("hang") == 1
    assert job.events.get(code="hang").data == {"seconds": 140, "idle": 100, "action": "fail"}
    attend(engine, job, exited(code=143, stopped=True))
    assert job.reason == {"code": "hung", "data": {"seconds": 140, "idle": 100}}
    client.force_login(user)
    page = client.get(f"/jobs/{job.key}/").content.decode()
    assert "Hangs: no output for 140 s, and idle for 100 s; the job is being ended as failed" in page
    assert "and they had been idle for 100 s" in page


def test_what_is_told_already_costs_nothing_more(engine, place, django_assert_num_queries):
    job = place()
    attend(engine, job, silent(250))
    with django_assert_num_queries(3) as seen:
        watching.attend()
    assert not any('"request"' in query["sql"] for query in seen.captured_queries)


def test_one_that_hangs_is_restarted(engine, place):
    job = place(auto_restart=True, max_restarts=1, stop_grace_seconds=7)
    attend(engine, job, silent(250))
    assert job.events.last().data == {"seconds": 200, "action": "restart"}
    attend(engine, job, silent(1))  # what it writes now comes too late
    assert {grace for _, grace in engine.stops} == {7}
    attend(engine, job, exited(code=143, stopped=True))
    assert (job.state, job.restarts) == ("queued", 1)
    assert job.events.last().data["reason"] == {"code": "hung", "data": {"seconds": 200}}


def test_when_its_restarts_are_used_up_it_fails(engine, place):
    job = place(auto_restart=True, max_restarts=1)
    Job.objects.update(restarts=1)
    attend(engine, job, silent(250))
    attend(engine, job, silent(250))
    attend(engine, job, exited(code=143, stopped=True))
    assert (job.state, job.reason["code"]) == ("failed", "hung")
    assert job.events.last().data["restarts_used_up"] == 1


def test_one_that_is_to_fail_is_not_restarted(engine, place):
    job = place(auto_restart=True, max_restarts=3, hang_action="fail")
    attend(engine, job, silent(250))
    attend(engine, job, silent(250))
    attend(engine, job, exited(code=143, stopped=True))
    assert (job.state, job.reason["code"], job.restarts) == ("failed", "hung", 0)
    assert "restarts_used_up" not in job.events.last().data


def test_a_stop_beats_the_restart_of_a_hang(engine, place, user):
    job = place(auto_restart=True)
    attend(engine, job, silent(250))
    job_stop(job=job, actor=user)
    attend(engine, job, silent(250))
    attend(engine, job, exited(code=143, stopped=True))
    assert (job.state, job.reason["code"]) == ("stopped", "stopped_by_user")


def test_the_events_say_what_happens(engine, place, user, client):
    client.force_login(user)
    job = place(hang_action="fail")
    attend(engine, job, silent(250))
    page = client.get(f"/jobs/{job.key}/").content.decode()
    assert "Suspected to hang: no output for 100 s; the job goes on" in page
    assert "Hangs: no output for 200 s; the job is being ended as failed" in page
