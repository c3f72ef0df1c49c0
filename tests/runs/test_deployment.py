"""Deploy steps: when each began, how long one may last, and where a deployment failed."""

import shutil
import time
from dataclasses import replace

import pytest

from engines.base import Fault, Phase, WorkerLook
from jobs.models import Attempt
from jobs.scheduling import queue_cycle
from jobs.services import job_stop
from jobs.spec import MountSpec
from pools.models import Hold
from runs.launching import attempt_key
from runs.stages import LAUNCHES_BORNE, Deployment, steps_begun
from tests.factories import make_job, make_pool, make_volume
from tests.runs.stand_in import START, attend, codes, exited, running
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


ABSENT = WorkerLook(0, Phase.ABSENT)


def began(step, at, rank=0):
    return starting(rank, ("storage", 1.0), (step, at))


@pytest.mark.parametrize(
    ("looks", "now", "step"),
    [
        ([began("storage", 100.0)], 219.9, None),
        ([began("storage", 100.0)], 220.0, "storage"),
        ([began("initialize", 101.0)], 9999.0, None),  # no limit was set for it
        ([began("pull_image", 101.0)], 1901.0, "pull_image"),
        ([began("pull_image", 101.0)], 1900.9, None),
        # each Worker is in a step of its own; who runs or has ended is in none
        ([began("pull_image", 101.0), began("storage", 100.0, 1)], 220.0, "storage"),
        ([running(0), began("storage", 100.0, 1)], 220.0, "storage"),
        ([running(0), exited(1)], 9999.0, None),
        # an earlier supervisor is gone: nobody is in any step, however long the machine was off
        ([ABSENT], 9999.0, None),
        ([], 9999.0, None),
        # one that lives and never comes to its first step
        ([starting(0)], 349.9, None),
        ([starting(0)], 350.0, "allocate"),
        # what it finds of the one before is not its own
        ([began("storage", 10.0)], 169.9, None),
        ([began("storage", 10.0)], 170.0, "storage"),
    ],
)
def test_how_long_a_step_may_last(looks, now, step):
    kept = Deployment({"storage": 1.0, "pull_image": 3.0}, launched_at=50.0, launches=1)
    broken = kept.overdue(looks, LIMITS, now)
    assert (broken and broken.step) == step
    if broken:
        assert broken.at <= now
        assert broken.reason.data == {"step": step, "seconds": LIMITS[step]}
        kept = replace(kept, tried_s=7.0, broken=broken)
        assert Deployment.from_json(kept.as_json()) == kept


def launched(*times):
    kept = Deployment()
    for now in times:
        kept = kept.launched(now)
    return kept


@pytest.mark.parametrize(
    ("times", "now", "over"),
    [
        ([0, 50, 100, 150, 200, 250], 300, True),
        ([0, 50, 100, 150, 200, 250], 299, False),
        ([0, 290, 300], 310, False),  # too few to tell
        (range(0, 300, 2), 300, True),
        # away for a day: what was tried before and since counts, the day does not
        ([0, 2, 4, 6], 86400, False),
        ([0, 2, 4, 6, 86400], 86400, False),
        ([0, 2, 4, 6, *range(86400, 86632, 2)], 86632, False),
        ([0, 2, 4, 6, *range(86400, 86634, 2)], 86634, True),
        # a clock that was set back takes nothing back
        ([0, 50, 100, 150, 200, 250, 310, 5], 5, True),
    ],
)
def test_for_how_long_supervisors_are_started_that_never_live(times, now, over):
    broken = launched(*times).overdue([ABSENT], LIMITS, now)
    assert (broken and broken.step) == ("allocate" if over else None)


def test_the_step_that_all_have_begun():
    assert Deployment().step == "allocate"
    assert Deployment({"pull_image": 3.0, "storage": 1.0}).step == "pull_image"
    assert Deployment.from_json(None) == Deployment()
    old = {"begun": {}, "launched_at": 5.0, "launches": 2, "broken": None}  # as it was kept before
    assert Deployment.from_json(old) == Deployment(launched_at=5.0, launches=2)


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
    steps = [(step, START) for step, _at in ALL]  # years ago
    stuck = (starting(0, *steps), starting(1, ("storage", START)))
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
def test_a_deployment_goes_on_after_the_machine_was_off(engine, place):
    job = place()
    began = time.time() - 2 * 86400
    attend(engine, job)
    attend(engine, job, starting(0, ("storage", began)))
    Attempt.objects.update(deployment=replace(kept(job), launched_at=began).as_json())
    attend(engine, job)
    assert (job.state, len(engine.launches), engine.stops) == ("deploying", 2, [])
    attend(engine, job, starting(0, ("storage", began)))  # left by the one before
    attend(engine, job, starting(0, ("storage", time.time())))
    attend(engine, job, running())
    assert (job.state, engine.stops) == ("running", [])


@pytest.mark.django_db
def test_who_runs_already_has_the_grace_that_was_asked_for(engine, place):
    job = place(workers=2, stop_grace_seconds=77)
    attend(engine, job, running(0), starting(1, ("storage", START)))
    assert {grace for _key, grace in engine.stops} == {77}
    job = place(workers=2, stop_grace_seconds=77)
    engine.stops.clear()
    attend(engine, job, starting(0, ("storage", START)), starting(1))
    assert {grace for key, grace in engine.stops if key == attempt_key(job)} == {0}


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
