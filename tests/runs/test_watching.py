"""Bringing jobs on after a look: what is written, how often, and what a late look must not undo."""

from datetime import timedelta

import pytest
from django.utils import timezone

from engines.base import EngineError, Phase, WorkerLook
from jobs.models import Attempt, Job, JobEvent, PrivateValue, Worker
from jobs.scheduling import queue_cycle
from jobs.services import job_stop
from jobs.spec import EnvVar
from pools.models import Hold, WorkerSpec
from runs import watching
from runs.finishing import finish
from runs.launching import attempt_key, port_settle
from tests.factories import make_job, make_pool
from tests.runs.stand_in import START, attend, codes, exited, running

pytestmark = pytest.mark.django_db
GIB = 2**30


@pytest.fixture
def place(user):
    """Makes a job and places it."""
    pool = make_pool(user.memberships.get().team)

    def make(**fields):
        job = make_job(user, pool, **fields)
        queue_cycle(pool.pk)
        job.refresh_from_db()
        return job

    return make


def test_a_placed_job_is_launched(engine, place):
    job = place(workers=2, framework="pytorch_ddp", env=[EnvVar("A", "1"), EnvVar("KEY", "s", private=True)])
    attend(engine, job)
    launch = engine.launches[0]
    assert [w.env["RANK"] for w in launch.workers] == ["0", "1"]
    assert launch.workers[1].env["MASTER_PORT"] == "29500"
    assert (launch.page, launch.private) == ({"A": "1"}, {"KEY": "s"})


def test_a_worker_has_the_share_of_its_spec(engine, place):
    WorkerSpec.objects.update(cpus=6, memory_gib=48, shm_gib=3)
    attend(engine, place())
    (worker,) = engine.launches[0].workers
    assert (worker.cpus, worker.memory_bytes, worker.shm_bytes) == (6, 48 * GIB, 3 * GIB)


def test_from_start_to_end(engine, place):
    job = place(workers=2)
    attend(engine, job, running(0), WorkerLook(1, Phase.STARTING, step="storage"))
    assert (job.state, job.deploy_step) == ("deploying", "storage")
    attend(engine, job, running(0), running(1))
    assert (job.state, job.started_at.timestamp()) == ("running", START)
    attend(engine, job, exited(0), running(1))
    assert job.state == "running"
    attend(engine, job, exited(0), exited(1))
    assert (job.state, job.exit_code) == ("succeeded", 0)
    assert codes(job) == ["created", "deploying", "running", "succeeded"]
    assert not Hold.objects.exists()


def test_a_command_that_ran_between_two_looks_was_running(engine, place):
    job = place()
    attend(engine, job, exited(code=3))
    assert (job.state, job.exit_code, job.reason["code"]) == ("failed", 3, "exit_code")
    assert codes(job) == ["created", "deploying", "running", "worker_failed", "failed"]


def test_the_end_is_when_it_ended_not_when_it_was_seen(engine, place):
    job = place(workers=2)
    attend(
        engine, job, exited(0), WorkerLook(1, Phase.EXITED, exit_code=0, started_at=START, ended_at=START + 9)
    )
    assert job.ended_at.timestamp() == Attempt.objects.get().ended_at.timestamp() == START + 9


def test_nothing_new_is_nothing_written(engine, place, django_assert_max_num_queries):
    job = place()
    attend(engine, job, running())
    with django_assert_max_num_queries(3):
        watching.attend()


def test_the_first_failure_is_told_once(engine, place):
    job = place(workers=3)
    failed = (running(0), exited(1, 7), running(2))
    attend(engine, job, *failed)
    attend(engine, job, *failed)
    assert codes(job).count("worker_failed") == 1
    assert {grace for _, grace in engine.stops} == {5.0}
    attend(engine, job, exited(0, 143, stopped=True), exited(1, 7), exited(2, 143, stopped=True))
    assert (job.state, job.exit_code) == ("failed", 7)
    assert Attempt.objects.get().first_failure == {"rank": 1, "exit_code": 7, "signal": None}


def test_a_late_look_takes_nothing_back(engine, place):
    job = place()
    attend(engine, job, running())
    stale = engine.looks[attempt_key(job)]
    attend(engine, job, exited(code=3))
    sight = watching.Sight(job, Attempt.objects.get(), tuple(Worker.objects.all()), stale, START)
    sight.record()
    worker = Worker.objects.get()
    assert (worker.exit_code, worker.ended_at.timestamp()) == (3, START + 5)


def test_a_worker_that_ran_and_is_unknown_is_lost_not_started_again(engine, place):
    job = place()
    attend(engine, job, running())
    engine.launches.clear()
    attend(engine, job)
    assert (job.state, job.reason["code"]) == ("failed", "worker_lost")
    assert engine.launches == []


def test_a_stop_waits_for_a_start_that_was_under_way(engine, place, user):
    job = place()
    job_stop(job=job, actor=user)
    engine.on_stop = lambda key: engine.looks.update({key: (running(),)})
    attend(engine, job)
    assert job.state == "deploying"
    assert Hold.objects.exists()
    attend(engine, job, exited(code=143, stopped=True))
    assert (job.state, job.reason["code"]) == ("stopped", "stopped_by_user")
    assert job.events.last().actor == user


def test_a_stop_before_anything_was_started(engine, place, user):
    job = place()
    job_stop(job=job, actor=user)
    attend(engine, job)
    assert job.state == "stopped"
    assert engine.launches == []
    assert engine.stops


def test_another_attempt_is_not_touched(engine, place):
    job = place()
    attend(engine, job, running())
    attempt = Attempt.objects.get()
    Job.objects.filter(pk=job.pk).update(attempt=2)
    verdict = watching.Sight(job, attempt, tuple(Worker.objects.all()), (exited(code=1),), START).verdict
    finish(job, attempt, verdict)
    job.refresh_from_db()
    assert job.state == "running"


def test_an_engine_that_cannot_start_is_told_once_and_borne_for_a_while(engine, place, settings):
    job = place()
    engine.trouble = EngineError("no space left")
    attend(engine, job)
    attend(engine, job)
    assert (job.state, job.reason["code"]) == ("deploying", "engine_unavailable")
    assert codes(job).count("start_delayed") == 1
    Attempt.objects.update(placed_at=timezone.now() - timedelta(seconds=settings.ENGINE_PATIENCE_SECONDS + 1))
    attend(engine, job)
    assert (job.state, job.reason) == ("failed", {"code": "engine_unavailable", "data": {}})
    assert not Hold.objects.exists()


def test_a_start_that_works_after_all_clears_the_reason(engine, place):
    job = place()
    engine.trouble = EngineError("busy")
    attend(engine, job)
    engine.trouble = None
    attend(engine, job, running())
    assert (job.state, job.reason) == ("running", None)


def test_a_sandbox_that_does_not_work_fails_at_once(engine, place):
    job = place()
    engine.trouble, engine.mode = EngineError("bubblewrap: not installed"), "unavailable"
    attend(engine, job)
    assert (job.state, job.reason["code"]) == ("failed", "sandbox_failed")


def test_a_private_value_that_cannot_be_read_fails_the_job(engine, place):
    job = place(env=[EnvVar("KEY", "s", private=True)])
    PrivateValue.objects.update(ciphertext=b"of another key")
    attend(engine, job)
    assert (job.state, job.reason["code"]) == ("failed", "private_value_unreadable")
    assert engine.stops


def test_the_trouble_of_one_job_is_not_that_of_others(engine, place):
    broken, fine = place(), place()
    Job.objects.filter(pk=broken.pk).update(frozen={})
    watching.attend()
    assert [launch.key.job for launch in engine.launches] == [fine.key]


def test_a_job_that_cannot_even_be_judged_is_no_trouble_for_others(engine, place, user):
    broken, fine = place(), place()
    job_stop(job=broken, actor=user)
    Job.objects.filter(pk=broken.pk).update(request={})
    watching.attend()
    assert [launch.key.job for launch in engine.launches] == [fine.key]


def test_a_maximum_running_time_asks_for_the_end_once_and_by_itself(engine, place):
    job = place(max_runtime_minutes=5, stop_grace_seconds=7)
    assert job.max_runtime_seconds == 300
    attend(engine, job, running())
    attend(engine, job, running())
    attend(engine, job, running())
    assert (job.state, job.stopping, job.stop_requested_by) == ("running", True, None)
    assert {grace for _, grace in engine.stops} == {7}
    attend(engine, job, exited(code=143, stopped=True))
    assert (job.state, job.reason) == ("stopped", {"code": "max_runtime", "data": {"minutes": 5}})
    assert codes(job).count("stop_requested") == 1
    assert job.events.get(code="stop_requested").data["reason"]["code"] == "max_runtime"


def test_a_stop_by_a_person_is_theirs_also_with_a_maximum_running_time(engine, place, user):
    job = place(max_runtime_minutes=5)
    Job.objects.update(max_runtime_seconds=10**9)
    attend(engine, job, running())
    job_stop(job=job, actor=user)
    attend(engine, job, running())
    attend(engine, job, exited(code=143, stopped=True))
    assert (job.state, job.reason["code"], job.events.last().actor) == ("stopped", "stopped_by_user", user)


def test_a_pass_with_nothing_due_leaves_the_large_fields_in_the_database(
    engine, place, django_assert_num_queries
):
    job = place(max_runtime_minutes=60)
    Job.objects.update(max_runtime_seconds=10**9)
    attend(engine, job, running())
    with django_assert_num_queries(3) as seen:
        watching.attend()
    assert not any('"request"' in query["sql"] for query in seen.captured_queries)


def test_two_at_once_attend_a_job_once(engine, place):
    job = place()
    engine.looks[attempt_key(job)] = ()
    with watching._alone(job.pk) as free:
        assert free
        watching.attend()
    assert engine.launches == []
    watching.attend()
    assert len(engine.launches) == 1


def test_only_the_named_jobs_are_attended(engine, place):
    first, second = place(), place()
    watching.attend([second.pk])
    assert [launch.key.job for launch in engine.launches] == [second.key]
    assert first.pk != second.pk


def test_a_taken_port_is_changed_once(engine, place):
    job = place(framework="pytorch_ddp")
    attempt = job.attempts.get()
    engine.busy_ports = {29500, 29501}
    assert port_settle(attempt, engine) == 29502
    engine.busy_ports = {29502}
    assert port_settle(Attempt.objects.get(), engine) == 29502


def test_a_port_that_another_launch_settled_is_used(engine, place):
    job = place(framework="pytorch_ddp")
    mine = job.attempts.get()
    Attempt.objects.update(port=29999, port_settled=True)
    assert port_settle(mine, engine) == 29999


def test_no_free_port_is_trouble_of_the_engine(engine, place, settings):
    settings.PORTS = range(29500, 29502)
    job = place(framework="pytorch_ddp")
    engine.busy_ports = {29500, 29501}
    with pytest.raises(EngineError, match="no port"):
        port_settle(job.attempts.get(), engine)


def test_without_ports_left_others_go_on(user, settings):
    settings.PORTS = range(29500, 29501)
    pool = make_pool(user.memberships.get().team)
    for framework in ("pytorch_ddp", "pytorch_ddp", "single"):
        make_job(user, pool, framework=framework)
    queue_cycle(pool.pk)
    assert list(Job.objects.order_by("pk").values_list("state", flat=True)) == [
        "deploying",
        "queued",
        "deploying",
    ]
    assert JobEvent.objects.filter(code="deploying").count() == 2
