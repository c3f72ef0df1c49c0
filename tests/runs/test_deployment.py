"""Deploy steps: when each began, how long one may last, and where a deployment failed."""

import shutil

import pytest

from engines.base import Fault, Phase, WorkerLook
from jobs.models import Attempt
from jobs.scheduling import queue_cycle
from jobs.services import job_stop
from jobs.spec import MountSpec
from pools.models import Hold
from runs.stages import LAUNCHES_BORNE, Deployment, is_deploying, steps_begun
from tests.factories import make_job, make_pool, make_volume
from tests.runs.stand_in import START, attend, codes, running
from tests.runs.test_real_runs import runs  # noqa: F401

LIMITS = {"allocate": 300.0, "storage": 120.0, "pull_image": 1800.0}
ALL = (("storage", 1.0), ("initialize", 2.0), ("pull_image", 3.0))


def starting(rank=0, *steps):
    return WorkerLook(rank, Phase.STARTING, step=steps[-1][0] if steps else "", steps=steps)


@pytest.mark.parametrize(
    ("looks", "expected", "begun"),
    [
        ((starting(0, *ALL),), 1, dict(ALL)),
        ((starting(0, *ALL), starting(1, ("storage", 9.0))), 2, {"storage": 9.0}),
        ((starting(0, *ALL), starting(1)), 2, {}),
        ((starting(0, *ALL),), 2, {}),
        ((), 0, {}),
    ],
)
def test_a_step_begins_with_its_last_worker(looks, expected, begun):
    assert steps_begun(looks, expected) == begun


@pytest.mark.parametrize(
    ("begun", "launches", "now", "step"),
    [
        ({"storage": 100.0}, 1, 219.9, None),
        ({"storage": 100.0}, 1, 220.0, "storage"),
        ({"storage": 100.0, "initialize": 101.0}, 1, 9999.0, None),  # no limit was set for it
        ({"storage": 100.0, "pull_image": 101.0}, 1, 1901.0, "pull_image"),
        ({}, LAUNCHES_BORNE, 350.0, "allocate"),
        ({}, LAUNCHES_BORNE - 1, 350.0, None),  # the console was away
        ({}, LAUNCHES_BORNE, 349.0, None),
    ],
)
def test_how_long_a_step_may_last(begun, launches, now, step):
    broken = Deployment(begun, launched_at=50.0, launches=launches).overdue(LIMITS, now)
    assert (broken and broken.step) == step
    if broken:
        assert broken.reason.data == {"step": step, "seconds": LIMITS[step]}
        kept = Deployment(begun, broken=broken)
        assert Deployment.from_json(kept.as_json()) == kept


def test_who_runs_is_not_deployed_any_more():
    assert not is_deploying([running(0)])
    assert is_deploying([running(0), starting(1)])
    assert Deployment.from_json(None) == Deployment()


@pytest.fixture
def place(user):
    pool = make_pool(user.memberships.get().team)

    def make(**fields):
        job = make_job(user, pool, **fields)
        queue_cycle(pool.pk)
        job.refresh_from_db()
        return job

    return make


def kept(job):
    return Deployment.from_json(Attempt.objects.get(job=job, number=job.attempt).deployment)


@pytest.mark.django_db
def test_a_step_that_lasts_too_long_ends_the_attempt(engine, place, api, user):
    job = place(workers=2, auto_restart=True, max_restarts=3)
    stuck = (starting(0, *ALL), starting(1, ("storage", START)))  # years ago
    attend(engine, job, *stuck)  # writes down when the step began
    attend(engine, job, *stuck)
    assert (job.state, job.deploy_step) == ("deploying", "pull_image")
    assert engine.stops
    attend(
        engine,
        job,
        *(WorkerLook(rank, Phase.EXITED, stopped=True, ended_at=START + 300) for rank in (0, 1)),
    )
    assert (job.state, job.restarts) == ("failed", 0)
    assert job.reason == {"code": "deploy_timeout", "data": {"step": "storage", "seconds": 120.0}}
    assert not Hold.objects.exists()
    (attempt,) = api(user).get(f"/api/v1/jobs/{job.key}/").json()["attempts"]
    steps = {step["step"]: step for step in attempt["deploy_steps"]}
    assert list(steps) == ["allocate", "storage", "initialize", "pull_image"]
    assert steps["storage"]["reason"]["message"].startswith("It could not be deployed: the step “prepare st")
    assert steps["initialize"]["begun_at"] is None


@pytest.mark.django_db
def test_a_command_that_began_at_the_last_moment_does_not_undo_the_end(engine, place):
    job = place()
    attend(engine, job, starting(0, ("storage", START)))
    attend(engine, job, starting(0, ("storage", START)))
    late = WorkerLook(0, Phase.EXITED, signal=15, stopped=True, started_at=START + 200, ended_at=START + 201)
    attend(engine, job, late)
    assert (job.state, job.reason["code"]) == ("failed", "deploy_timeout")


@pytest.mark.django_db
def test_a_stop_that_was_asked_for_is_a_stop(engine, place, user):
    job = place()
    engine.looks.clear()
    job_stop(job=job, actor=user)
    attend(engine, job, starting(0, ("storage", START)))
    attend(engine, job, WorkerLook(0, Phase.EXITED, stopped=True, ended_at=START + 300))
    assert (job.state, job.reason["code"]) == ("stopped", "stopped_by_user")
    assert kept(job).broken is None


@pytest.mark.django_db
def test_a_fault_is_told_at_its_step(engine, place):
    job = place()
    fault = Fault("image_missing", {"image": "none:1"})
    attend(engine, job, WorkerLook(0, Phase.EXITED, fault=fault, ended_at=START, steps=ALL))
    assert (job.state, kept(job).broken.step) == ("failed", "pull_image")
    assert kept(job).begun == dict(ALL)


@pytest.mark.django_db
def test_supervisors_that_never_come_to_a_step_are_not_started_for_ever(engine, place, settings):
    settings.DEPLOY_STEP_SECONDS = {"allocate": 0.0}
    job = place()
    for _ in range(LAUNCHES_BORNE + 1):
        attend(engine, job)
    assert len(engine.launches) == LAUNCHES_BORNE
    assert (job.state, job.reason["data"]["step"]) == ("failed", "allocate")
    assert codes(job) == ["created", "deploying", "failed"]
    assert not Hold.objects.exists()


@pytest.mark.django_db
def test_real_steps_have_times_in_order(runs, client):  # noqa: F811
    job = runs.ended(runs.make("sleep 0.2"))
    begun = kept(job).begun
    assert list(begun) == ["storage", "initialize", "pull_image"]
    attempt = Attempt.objects.get()
    times = [*begun.values(), attempt.started_at.timestamp(), attempt.ended_at.timestamp()]
    assert times == sorted(times)
    client.force_login(runs.user)
    page = client.get(f"/jobs/{job.key}/").content.decode()
    assert page.count('<li class="done"') == 4


@pytest.mark.django_db
def test_a_real_mount_that_is_gone(runs, client):  # noqa: F811
    team = runs.user.memberships.get().team
    volume = make_volume(runs.pool.zone, team)
    job = runs.make("true", mounts=[MountSpec(volume.pk, "/mnt/gone-for-good")], auto_restart=True)
    shutil.rmtree(volume.path)
    runs.ended(job)
    assert (job.state, job.reason["code"], job.attempt) == ("failed", "mount_missing", 1)
    assert kept(job).broken.step == "storage"
    assert "running" not in runs.codes(job)
    assert not Hold.objects.exists()
    client.force_login(runs.user)
    page = client.get(f"/jobs/{job.key}/").content.decode()
    step = page[page.index('<li class="bad"') :].partition("</li>")[0]
    assert "Prepare storage" in step
    assert "the folder behind /mnt/gone-for-good does not exist" in step
