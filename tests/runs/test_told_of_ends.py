"""What is told of the end of a run: one instant everywhere, each thing once, and what had to be killed."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from engines.base import Phase, WorkerLook
from jobs.faults import faults_settle
from jobs.lifecycle import event, events_date
from jobs.models import Attempt, Job, JobEvent
from jobs.scheduling import queue_cycle, queue_tick
from jobs.services import job_stop
from pools.models import Node, NodeState
from pools.services import node_set_state
from runs import watching
from runs.launching import attempt_key
from tests.factories import make_job, make_pool
from tests.jobs.pages import Page
from tests.runs.stand_in import attend, exited, running

pytestmark = pytest.mark.django_db

BEGAN, FAILED, ENDED = (timedelta(minutes=-m) for m in (50, 20, 10))


@pytest.fixture
def pool(user):
    return make_pool(user.memberships.get().team)


@pytest.fixture
def place(user, pool):
    """Makes a job that was placed an hour ago."""

    def make(**fields):
        job = make_job(user, pool, **fields)
        queue_cycle(pool.pk)
        hour_ago = timezone.now() - timedelta(hours=1)
        JobEvent.objects.filter(job=job).update(at=hour_ago)
        Attempt.objects.filter(job=job).update(placed_at=hour_ago)
        job.refresh_from_db()
        return job

    return make


@pytest.fixture
def page(client, user):
    client.force_login(user)
    return lambda job: Page(client.get(f"/jobs/{job.key}/"))


def at(back):
    return (timezone.now() + back).timestamp()


def died(rank, code, back, **fields):
    return WorkerLook(rank, Phase.EXITED, exit_code=code, started_at=at(BEGAN), ended_at=at(back), **fields)


def times(job):
    """When each event happened, in seconds since the epoch."""
    return {event.code: event.at.timestamp() for event in job.events.all()}


def test_what_ended_is_told_with_the_time_at_which_it_did(engine, place, page):
    """Failed, seen ten minutes later: card, Workers, timeline and events name one instant."""
    job = place(workers=2, auto_restart=False)
    looks = died(0, 3, FAILED), died(1, 143, ENDED, stopped=True)
    attend(engine, job, *looks)
    told = times(job)
    assert told["running"] == job.started_at.timestamp() == pytest.approx(looks[0].started_at)
    assert told["worker_failed"] == pytest.approx(looks[0].ended_at)
    assert told["failed"] == job.ended_at.timestamp() == pytest.approx(looks[1].ended_at)
    shown = page(job)
    for part in ("live-timeline", "live-events"):
        assert f"{job.ended_at:%Y-%m-%d %H:%M:%S} UTC" in shown.by_id(part).text
    first = datetime.fromtimestamp(looks[0].ended_at, UTC)
    for part in ("live-trouble", "live-workers", "live-events"):
        assert f"{first:%Y-%m-%d %H:%M:%S} UTC" in shown.by_id(part).text


def test_jobs_that_end_together_have_each_its_own_time(engine, place):
    jobs = [place(), place()]
    for job in jobs:
        engine.looks[attempt_key(job)] = (running(),)
    watching.attend()
    ends = [at(timedelta(minutes=-10 + number)) for number in range(2)]
    for job, ended in zip(jobs, ends, strict=True):
        engine.looks[attempt_key(job)] = (
            WorkerLook(0, Phase.EXITED, exit_code=3, started_at=at(BEGAN), ended_at=ended),
        )
    JobEvent.objects.update(at=timezone.now() - timedelta(minutes=30))
    watching.attend()
    assert [times(job)["failed"] for job in jobs] == pytest.approx(ends)
    assert [times(job)["worker_failed"] for job in jobs] == pytest.approx(ends)


def test_a_run_that_is_followed_by_another_too(engine, place):
    job = place(auto_restart=True, max_restarts=2)
    attend(engine, job, died(0, 3, FAILED))
    assert times(job)["restarted"] == Attempt.objects.get().ended_at.timestamp()


def test_nothing_is_told_as_before_what_it_followed(place):
    job = place()
    event(job.pk, "start_delayed")
    earlier = job.events.last().at
    event(job.pk, "worker_failed", rank=0)
    events_date({job.pk: earlier - timedelta(hours=3)})
    assert job.events.last().at == earlier
    events_date({job.pk: earlier + timedelta(seconds=1)})
    assert job.events.last().at == earlier + timedelta(seconds=1)


def stopped(engine, place, user, **look):
    """A job of two Workers that was asked to end 30 seconds ago, the first of which ended well."""
    job = place(workers=2, stop_grace_seconds=7)
    attend(engine, job, running(0), running(1))
    job_stop(job=job, actor=user)
    JobEvent.objects.filter(job=job).update(at=timezone.now() - timedelta(seconds=31))
    Job.objects.update(stop_requested_at=timezone.now() - timedelta(seconds=30))
    killed = {"signal": 9, "exit_code": None, "stopped": True} | look
    attend(
        engine,
        job,
        WorkerLook(
            0, Phase.EXITED, exit_code=143, started_at=1.0, ended_at=at(timedelta(seconds=-29)), stopped=True
        ),
        WorkerLook(1, Phase.EXITED, started_at=1.0, **({"ended_at": at(timedelta(seconds=-22))} | killed)),
    )
    return job


def test_what_did_not_end_when_asked_was_killed_and_is_told(engine, place, user, page):
    job = stopped(engine, place, user)
    assert (job.state, job.reason["data"]) == ("stopped", {"killed": {"workers": 1, "seconds": 7}})
    shown = page(job)
    said = "1 Worker did not end within 7 s of being asked: killed."
    assert f"Stopped on request. {said}" in shown.by_id("live-trouble").text
    assert f"Stopped on request: {said} · {user.username}" in shown.by_id("live-events").text


def test_so_is_what_did_not_leave_its_node(engine, place, page):
    job = place(auto_restart=False, stop_grace_seconds=7)
    attend(engine, job, running())
    node_set_state(nodes=Node.objects.filter(workers__attempt__job=job), state=NodeState.DRAINED)
    faults_settle()
    Attempt.objects.update(fault_at=timezone.now() - timedelta(seconds=30))
    killed = {"signal": 9, "stopped": True, "started_at": 1.0, "ended_at": at(timedelta(seconds=-20))}
    attend(engine, job, WorkerLook(0, Phase.EXITED, **killed))
    assert (job.state, job.reason["code"]) == ("failed", "drained")
    told = page(job).by_id("live-trouble").text
    assert (
        "an administrator drained the node. 1 Worker did not end within 7 s of being asked: killed." in told
    )


@pytest.mark.parametrize("look", [{"signal": 15}, {"ended_at": at(timedelta(seconds=-28))}])
def test_what_ended_when_asked_was_not_killed(engine, place, user, page, look):
    job = stopped(engine, place, user, **look)
    assert (job.state, job.reason["data"]) == ("stopped", {})
    events = page(job).by_id("live-events").text
    assert f"Stopped on request · {user.username}" in events
    assert "Stopped: Stopped" not in events


@pytest.mark.parametrize(
    ("look", "says"),
    [
        ({"exit_code": 3}, "The start command ended with exit code 3."),
        (
            {"exit_code": 139},
            "The start command ended with exit code 139: a program of it was ended by signal 11.",
        ),
        ({"signal": 9}, "It was ended by signal 9 (exit code 137)."),
    ],
)
def test_one_worker_is_first_of_none(engine, place, page, look, says):
    job = place()
    attend(engine, job, WorkerLook(0, Phase.EXITED, started_at=at(BEGAN), ended_at=at(ENDED), **look))
    source = page(job).source
    assert says in source
    assert "first" not in page(job).by_id("live-trouble").text + page(job).by_id("live-events").text


def test_that_no_restart_was_left_stands_with_the_failure(engine, place, page, client):
    job = place(auto_restart=True, max_restarts=2)
    for _ in range(3):
        attend(engine, job, exited(code=3))
        assert "used up" not in page(job).by_id("live-trouble").text or job.state == "failed"
        Job.objects.update(eligible_at=timezone.now())
        queue_tick()
        job.refresh_from_db()
    assert (job.state, job.attempt) == ("failed", 3)
    assert "All restarts were used up: 2 of 2." in page(job).by_id("live-trouble").text
    assert "last run" in Page(client.get("/jobs/")).by_id(f"lasting-{job.key}").text
    assert "last run" in client.get("/").content.decode()


def test_the_time_of_the_only_run_is_just_that(engine, place, page, client):
    job = place()
    attend(engine, job, exited(code=3))
    assert "used up" not in page(job).source
    assert "last run" not in client.get("/jobs/").content.decode() + client.get("/").content.decode()
