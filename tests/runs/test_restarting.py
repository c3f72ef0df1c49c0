"""Automatic restarts: when a job goes back to the queue, what it keeps, and what comes before it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from engines.base import Fault, Phase, WorkerLook
from jobs.lifecycle import move, restart
from jobs.models import Attempt, Job, WaitingTotal
from jobs.scheduling import queue_cycle, queue_tick
from jobs.services import job_estimate, job_stop
from jobs.states import State
from pools.models import Hold
from runs.launching import attempt_key
from tests.factories import make_job, make_pool, make_spec
from tests.jobs.pages import Page
from tests.runs.stand_in import attend, codes, exited, running

pytestmark = pytest.mark.django_db


@pytest.fixture
def pool(user):
    return make_pool(user.memberships.get().team, nodes=1)


@pytest.fixture
def place(user, pool):
    """Makes a job with automatic restart, and places it."""

    def make(**fields):
        job = make_job(user, pool, **{"auto_restart": True, "max_restarts": 2} | fields)
        queue_cycle(pool.pk)
        job.refresh_from_db()
        return job

    return make


def due(job):
    """As if the pause were over."""
    Job.objects.filter(pk=job.pk).update(eligible_at=timezone.now())


def again(job):
    due(job)
    queue_tick()
    job.refresh_from_db()


def test_a_failure_sends_it_back_to_the_queue(engine, place, settings):
    settings.RESTART_PAUSE_SECONDS = 10
    job = place(gpus=8)
    attend(engine, job, running())
    before = timezone.now()
    attend(engine, job, exited(code=3))
    assert (job.state, job.reason, job.exit_code, job.started_at, job.ended_at) == ("queued", *[None] * 4)
    assert timedelta(seconds=9) < job.eligible_at - before < timedelta(seconds=20)
    assert (job.restarts, job.attempt) == (1, 1)
    assert not Hold.objects.exists()
    assert Attempt.objects.get().ended_at is not None
    assert WaitingTotal.objects.get().jobs == 1
    told = job.events.last()
    assert (told.code, told.data["restart"], told.data["most"]) == ("restarted", 1, 2)
    assert told.data["reason"] == {"code": "exit_code", "data": {"rank": 0, "workers": 1, "exit_code": 3}}
    queue_tick()
    assert Job.objects.get().state == "queued"


def test_each_attempt_has_its_own_workers_port_and_launch(engine, place):
    job = place(framework="pytorch_ddp", workers=2)
    attend(engine, job)
    attend(engine, job, exited(0, 1), exited(1, 1))
    again(job)
    assert (job.state, job.attempt) == ("deploying", 2)
    attend(engine, job)
    assert [str(launch.key) for launch in engine.launches] == [f"{job.key}/1", f"{job.key}/2"]
    assert [w.env["TRAINYARD_ATTEMPT"] for w in engine.launches[1].workers] == ["2", "2"]
    first, second = Attempt.objects.order_by("number")
    assert [w.exit_code for w in first.workers.all()] == [1, 1]
    assert [w.exit_code for w in second.workers.all()] == [None, None]
    assert (first.first_failure["rank"], second.first_failure) == (0, None)
    attend(engine, job, running(0), running(1))
    assert job.started_at is not None
    attend(engine, job, exited(0), exited(1))
    assert (job.state, job.exit_code, job.restarts) == ("succeeded", 0, 1)


def test_restarts_that_are_used_up_leave_a_failure(engine, place):
    job = place(max_restarts=1)
    attend(engine, job, exited(code=3))
    again(job)
    attend(engine, job, exited(code=4))
    assert (job.state, job.exit_code, job.restarts) == ("failed", 4, 1)
    assert job.events.last().data["restarts_used_up"] == 1
    assert codes(job).count("restarted") == 1


@pytest.mark.parametrize("fields", [{"auto_restart": False}, {"auto_restart": False, "max_restarts": 3}])
def test_who_did_not_ask_for_restarts_gets_none(engine, place, fields):
    job = place(**fields)
    attend(engine, job, exited(code=3))
    assert (job.state, job.restarts) == ("failed", 0)
    assert "restarts_used_up" not in job.events.last().data


@pytest.mark.parametrize(
    ("look", "state"),
    [
        (exited(), "succeeded"),
        (
            WorkerLook(0, Phase.EXITED, fault=Fault("mount_missing", {"path": "/mnt/x"}), ended_at=1.0),
            "failed",
        ),
        (WorkerLook(0, Phase.EXITED, fault=Fault("image_missing", {"image": "x"}), ended_at=1.0), "failed"),
    ],
)
def test_what_would_be_the_same_again_is_not_repeated(engine, place, look, state):
    job = place()
    attend(engine, job, look)
    assert (job.state, job.restarts) == (state, 0)
    assert "restarts_used_up" not in job.events.last().data


def test_a_lost_worker_is_a_failure_like_others(engine, place):
    job = place()
    attend(engine, job, running())
    attend(engine, job)
    assert (job.state, job.restarts) == ("queued", 1)
    assert job.events.last().data["reason"]["code"] == "worker_lost"


def test_the_maximum_running_time_is_no_failure(engine, place):
    job = place(max_runtime_minutes=5)
    attend(engine, job, running())
    attend(engine, job, running())
    attend(engine, job, exited(code=143, stopped=True))
    assert (job.state, job.reason["code"], job.restarts) == ("stopped", "max_runtime", 0)


def test_a_stop_beats_a_pending_restart(engine, place, user):
    job = place()
    attend(engine, job, exited(code=3))
    job_stop(job=job, actor=user)
    assert (job.state, job.reason["code"]) == ("stopped", "stopped_by_user")
    due(job)
    queue_tick()
    assert Job.objects.get().state == "stopped"


def test_a_stop_between_failure_and_restart_leaves_the_failure(place, user):
    job = place()
    move([job.pk], State.DEPLOYING, State.RUNNING)
    job_stop(job=job, actor=user)
    assert not restart(job.pk, State.RUNNING, reason=None, pause=timedelta())
    job.refresh_from_db()
    assert (job.state, job.restarts) == ("running", 0)


def test_a_failure_that_is_seen_after_a_stop_is_not_restarted(engine, place, user):
    job = place()
    attend(engine, job, running())
    job_stop(job=job, actor=user)
    attend(engine, job, exited(code=3))
    assert (job.state, job.reason["code"], job.restarts) == ("failed", "exit_code", 0)


def test_a_restart_is_spent_once_whoever_sees_the_failure(engine, place):
    job = place()
    attend(engine, job, running())
    reason = {"reason": None, "pause": timedelta()}
    attend(engine, job, exited(code=3))
    assert not restart(job.pk, State.RUNNING, **reason)
    attend(engine, job, exited(code=3))
    assert (job.state, job.restarts) == ("queued", 1)


def test_it_keeps_its_place_before_younger_ones(engine, place, user, pool):
    first = place(gpus=8)
    attend(engine, first, exited(code=3))
    younger = [make_job(user, pool, gpus=8) for _ in range(2)]
    again(first)
    assert first.state == "deploying"
    assert {Job.objects.get(pk=job.pk).state for job in younger} == {"queued"}


def test_while_it_pauses_others_may_have_its_room_and_are_told_so(engine, place, user, pool):
    job = place(gpus=8)
    attend(engine, job, exited(code=3))
    assert job_estimate(user=user, spec=make_spec(pool, gpus=8)).starts_now
    due(job)
    assert not job_estimate(user=user, spec=make_spec(pool, gpus=8)).starts_now


def test_one_that_waits_and_one_that_pauses_are_told_apart(engine, place, user, pool):
    """Both are of one class: only the first of them competes for the room that is left."""
    paused = place(gpus=4)
    attend(engine, paused, exited(code=3))
    make_job(user, pool, gpus=4)
    assert job_estimate(user=user, spec=make_spec(pool, gpus=4)).starts_now
    due(paused)
    assert not job_estimate(user=user, spec=make_spec(pool, gpus=4)).starts_now


def test_the_maximum_waiting_time_counts_from_when_it_may_start(engine, place):
    job = place(max_queue_minutes=5)
    attend(engine, job, exited(code=3))
    assert job.queue_until == job.eligible_at + timedelta(minutes=5)


def test_the_page_and_rest_tell_of_restarts(engine, place, user, client, api):
    client.force_login(user)
    job = place(max_restarts=3)
    attend(engine, job, exited(code=3))
    page = client.get(f"/jobs/{job.key}/").content.decode()
    assert "restart 1/3" in page
    assert "Starts again at the earliest at" in page
    assert "Restart 1 of 3, after a pause: The start command ended with exit code 3." in page
    told = api(user).get(f"/api/v1/jobs/{job.key}/").json()
    assert (told["restarts"], told["reason"]["code"], told["attempt"]) == (1, "backing_off", 1)
    assert "not before 20" in told["reason"]["message"]
    again(job)
    attend(engine, job, running())
    page = client.get(f"/jobs/{job.key}/").content.decode()
    assert "run 2 (restart 1/3)" in page
    assert f'href="/jobs/{job.key}/workers/0/log/?attempt=1"' in page
    assert api(user).get(f"/api/v1/jobs/{job.key}/").json()["restarts"] == 1


def test_a_pause_that_was_stopped_is_no_running_time(engine, place, user, client):
    client.force_login(user)
    job = place()
    attend(engine, job, exited(code=3))  # ran for 5 s, long ago
    job_stop(job=job, actor=user)
    head = Page(client.get(f"/jobs/{job.key}/")).by_id("live-head").text
    assert "5 s" in " ".join(head.split())


def test_waiting_counts_from_the_restart(engine, place, user, api):
    job = place()
    attend(engine, job, exited(code=3))
    Job.objects.update(created_at=timezone.now() - timedelta(days=1))
    queue = api(user).get(f"/api/v1/pools/{job.pool_id}/queue/").json()["results"]
    assert queue[0]["waiting_since"][:16] == f"{job.events.last().at:%Y-%m-%dT%H:%M}"
    assert attempt_key(job).attempt == 1
