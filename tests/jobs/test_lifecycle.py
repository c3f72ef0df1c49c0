"""The one door for `Job.state`, creating and stopping."""

from dataclasses import replace

import pytest

from jobs.findings import Reason
from jobs.lifecycle import move
from jobs.models import Job, JobEvent, PrivateValue, WaitingTotal
from jobs.scheduling import queue_cycle
from jobs.services import RequestRefused, job_create, job_stop, may_stop
from jobs.spec import EnvVar, JobSpec, MountSpec
from jobs.states import LIVE, MOVES, TERMINAL, State
from teams.vault import decrypt
from tests.factories import make_job, make_pool, make_spec, make_team, make_user, make_volume

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    return make_user(make_team())


@pytest.fixture
def pool(user):
    return make_pool(user.memberships.get().team)


def test_terminal_states_are_never_left():
    assert all(not MOVES[state] for state in TERMINAL)
    assert set(MOVES) == LIVE | TERMINAL


def test_an_unknown_move_is_an_error(user, pool):
    job = make_job(user, pool)
    with pytest.raises(ValueError, match="no move"):
        move([job.pk], State.SUCCEEDED, State.RUNNING)


def test_a_move_from_another_state_moves_nothing(user, pool):
    job = make_job(user, pool)
    assert move([job.pk], State.RUNNING, State.FAILED) == []
    assert Job.objects.get().state == "queued"
    assert JobEvent.objects.count() == 1


def test_a_move_twice_is_one_move(user, pool):
    job = make_job(user, pool)
    assert move([job.pk], State.QUEUED, State.STOPPED, actor=user) == [job.pk]
    assert move([job.pk], State.QUEUED, State.STOPPED, actor=user) == []
    assert [e.code for e in JobEvent.objects.all()] == ["created", "stopped"]
    assert not WaitingTotal.objects.exists()


def test_a_move_of_many_answers_those_moved(user, pool):
    jobs = [make_job(user, pool) for _ in range(3)]
    move([jobs[1].pk], State.QUEUED, State.STOPPED)
    ids = [j.pk for j in reversed(jobs)]
    assert move(ids, State.QUEUED, State.FAILED, reason=Reason("quota", {"held": 1})) == [
        jobs[0].pk,
        jobs[2].pk,
    ]
    assert Job.objects.get(pk=jobs[0].pk).reason == {"code": "quota", "data": {"held": 1}}


def test_back_to_the_queue_frees_and_counts(user, pool):
    job = make_job(user, pool)
    queue_cycle(pool.pk)
    move([job.pk], State.DEPLOYING, State.QUEUED)
    assert WaitingTotal.objects.get().jobs == 1
    queue_cycle(pool.pk)
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("deploying", 2)
    assert [a.number for a in job.attempts.all()] == [1, 2]


def test_create_freezes_what_the_request_names(user, pool):
    team = user.memberships.get().team
    volume = make_volume(pool.zone, team, read_only=True)
    spec = make_spec(pool, mounts=[MountSpec(volume.pk, "/mnt/public//")], tags=("a", "b", "a"))
    job = job_create(user=user, spec=spec)
    assert JobSpec.from_json(job.request) == replace(spec, alerts=())  # the person has no usual ones
    mount = job.frozen["mounts"][0]
    assert (mount["mount_path"], mount["source"], mount["read_only"]) == ("/mnt/public", volume.path, True)
    assert job.frozen["spec"]["gpus"] == 1
    assert sorted(t.name for t in job.tags.all()) == ["a", "b"]


def test_private_values_are_stored_encrypted_only(user, pool):
    job = make_job(user, pool, env=[EnvVar("KEY", "sekret-4711", private=True), EnvVar("A", "1")])
    assert "sekret" not in str(job.request) + str(job.frozen)
    stored = PrivateValue.objects.get()
    assert b"sekret" not in bytes(stored.ciphertext)
    assert decrypt(stored.ciphertext) == "sekret-4711"
    assert [v["value"] for v in job.request["env"]] == [None, "1"]


def test_a_refused_request_leaves_nothing(user, pool):
    with pytest.raises(RequestRefused) as refused:
        make_job(user, pool, gpus=8, workers=5, name="")
    assert {(f.field, f.code) for f in refused.value.findings} == {
        ("worker_count", "never_fits"),
        ("name", "required"),
    }
    assert Job.objects.count() == JobEvent.objects.count() == WaitingTotal.objects.count() == 0


def test_stop_of_a_waiting_job(user, pool):
    job = job_stop(job=make_job(user, pool), actor=user)
    assert (job.state, job.reason["code"]) == ("stopped", "stopped_by_user")
    assert job.events.last().actor == user
    assert queue_cycle(pool.pk) == 0


def test_stop_of_a_placed_job_is_asked_for_once(user, pool):
    job = make_job(user, pool)
    queue_cycle(pool.pk)
    first = job_stop(job=job, actor=user).stop_requested_at
    assert job_stop(job=job, actor=user).stop_requested_at == first
    assert [e.code for e in job.events.all()] == ["created", "deploying", "stop_requested"]
    assert job.stopping


def test_stop_of_an_ended_job_changes_nothing(user, pool):
    job = make_job(user, pool)
    queue_cycle(pool.pk)
    move([job.pk], State.DEPLOYING, State.FAILED)
    before = Job.objects.values().get()
    job_stop(job=job, actor=user)
    assert Job.objects.values().get() == before


def test_who_may_stop(user, pool):
    team = user.memberships.get().team
    job = make_job(user, pool)
    assert may_stop(user=user, job=job)
    assert may_stop(user=make_user(team, admin=True), job=job)
    assert not may_stop(user=make_user(team), job=job)
    assert not may_stop(user=make_user(make_team(), admin=True), job=job)
    user.memberships.all().delete()
    assert not may_stop(user=user, job=job)
