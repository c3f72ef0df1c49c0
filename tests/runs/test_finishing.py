"""The end of an attempt on which something else comes down at the same moment."""

import time

import pytest

from engines.base import CheckLook, Phase, WorkerLook
from jobs.faults import MOST_PLATFORM_RESTARTS, faults_settle
from jobs.lifecycle import move
from jobs.models import Attempt, Job
from jobs.scheduling import queue_cycle
from jobs.services import job_stop
from jobs.states import State
from pools.models import Hold, Node, NodeState
from pools.services import node_set_state
from runs import watching
from runs.finishing import finish
from runs.launching import attempt_key
from tests.factories import make_job, make_pool
from tests.runs.stand_in import START, attend, codes, exited, running

pytestmark = pytest.mark.django_db

told_to_go = exited(code=143, stopped=True)


@pytest.fixture
def place(user):
    pool = make_pool(user.memberships.get().team, nodes=2)

    def make(**fields):
        job = make_job(user, pool, **{"auto_restart": True, "max_restarts": 3} | fields)
        queue_cycle(pool.pk)
        job.refresh_from_db()
        return job

    return make


def drain(job):
    node = Node.objects.filter(workers__attempt__job=job).first()
    node_set_state(nodes=Node.objects.filter(pk=node.pk), state=NodeState.DRAINED)
    faults_settle()


def drained_before_it_ran(engine, place):
    job = place()
    drain(job)
    return job, ()


def drained(engine, place):
    job = place()
    attend(engine, job, running())
    drain(job)
    Job.objects.update(platform_restarts=1)
    return job, (told_to_go,)


def hung(engine, place):
    job = place(hang_detection=True, hang_timeout_seconds=100)
    silent = WorkerLook(0, Phase.RUNNING, started_at=START, output_at=time.time() - 250)
    attend(engine, job, silent)
    attend(engine, job, silent)
    return job, (told_to_go,)


def checked_in_vain(engine, place):
    job = place(env_check=True)
    attend(engine, job, WorkerLook(0, Phase.STARTING, step="env_check", check=CheckLook("broke_off", "")))
    attend(engine, job, WorkerLook(0, Phase.STARTING, step="env_check"))
    return job, (WorkerLook(0, Phase.EXITED, stopped=True, ended_at=START),)


def lost(engine, place):
    job = place()
    attend(engine, job, running())
    return job, (WorkerLook(0, Phase.LOST, started_at=START),)


@pytest.mark.parametrize("about_to_end", [drained_before_it_ran, drained, hung, checked_in_vain, lost])
@pytest.mark.parametrize("asked_at", ["look", "end"])
def test_a_stop_that_comes_while_an_end_is_on_its_way(
    engine, place, user, monkeypatch, about_to_end, asked_at
):
    job, looks = about_to_end(engine, place)
    engine.looks[attempt_key(job)] = looks

    def asked(*args):
        if asked_at == "end" or engine.seen == 2:  # the look on which the job is acted on
            job_stop(job=Job.objects.get(pk=job.pk), actor=user)

    look, engine.seen = engine.look, 0

    def looked(keys):
        engine.seen += 1
        if asked_at == "look":
            asked()
        return look(keys)

    engine.look = looked
    if asked_at == "end":
        monkeypatch.setattr(watching, "finish", lambda *args: (asked(), finish(*args)))
    watching.attend()
    job.refresh_from_db()
    assert (job.state in ("deploying", "running"), job.stopping) == (True, True)
    assert Hold.objects.exists()
    watching.attend()
    job.refresh_from_db()
    assert (job.state, job.reason["code"]) == ("stopped", "stopped_by_user")
    assert (job.events.last().actor, job.restarts) == (user, 0)
    assert "platform_restarts_used_up" not in job.events.last().data
    assert not {"requeued", "restarted", "failed"} & set(codes(job))
    assert not Hold.objects.exists()


@pytest.mark.parametrize(
    ("restarts", "told"),
    [(MOST_PLATFORM_RESTARTS - 1, None), (MOST_PLATFORM_RESTARTS, MOST_PLATFORM_RESTARTS)],
)
def test_restarts_are_used_up_when_none_is_left(engine, place, restarts, told):
    job = place()
    attend(engine, job, running())
    Job.objects.update(platform_restarts=restarts, max_restarts=0 if told is None else 3)
    drain(job)
    attend(engine, job, told_to_go)
    assert (job.state, job.events.last().data.get("platform_restarts_used_up")) == ("failed", told)


def test_one_that_moved_on_meanwhile_is_left_alone(engine, place):
    job = place()
    attend(engine, job, running())
    attempt = Attempt.objects.get()
    verdict = watching.Sight(job, attempt, tuple(attempt.workers.all()), (told_to_go,), START).verdict
    move([job.pk], State.RUNNING, State.SUCCEEDED)
    finish(job, attempt, verdict)
    job.refresh_from_db()
    assert job.state == "succeeded"
