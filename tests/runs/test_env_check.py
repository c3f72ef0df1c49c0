"""When commands may run after the check, and what a failure leads to: moments set by a stand-in."""

import json

import pytest

from engines.base import CheckLook, Phase, WorkerLook
from jobs.faults import faults_settle
from jobs.models import Attempt, Job, Worker
from jobs.scheduling import queue_cycle
from jobs.services import job_stop
from pools.models import Hold, Node, NodeState
from pools.services import node_set_state
from runs import checked
from runs.env_check.values import items_of
from tests.factories import make_job, make_pool
from tests.runs.stand_in import START, attend, codes, exited, running

pytestmark = pytest.mark.django_db
STEPS = (("storage", START), ("initialize", START), ("pull_image", START), ("env_check", START))
SMI = {"item": "gpu", "driver": True, "devices": 8, "status": 0, "lines": [f"{i}, A, 1, 0" for i in range(8)]}
LOST = {**SMI, "status": 15, "lines": ["GPU is lost"]}
REST = (
    {"item": "rdma", "ports": []},
    {"item": "runtime", "torch": None, "error": ""},
    {"item": "allreduce", "right": True, "took": 0.1},
)


def waiting(rank, gpu=None, outcome="done", others=REST):
    """A Worker whose command waits; `gpu` is what the check has measured, if it has ended."""
    text = "".join(json.dumps(told) + "\n" for told in (gpu, *others))
    check = CheckLook(outcome, text, START, START + 5) if gpu else None
    return WorkerLook(rank, Phase.STARTING, step="env_check", steps=STEPS, check=check)


def stopped(rank):
    return WorkerLook(rank, Phase.EXITED, stopped=True, ended_at=START + 9, steps=STEPS)


@pytest.fixture
def pool(user):
    return make_pool(user.memberships.get().team)


@pytest.fixture
def place(user, pool):
    def make(**fields):
        job = make_job(user, pool, env_check=True, **fields)
        queue_cycle(pool.pk)
        job.refresh_from_db()
        return job

    return make


def test_leave_is_given_once_all_have_passed(engine, place):
    job = place(workers=2, gpus=8)
    assert engine.releases == []
    attend(engine, job, waiting(0, SMI), waiting(1))
    assert (engine.releases, job.deploy_step) == ([], "env_check")
    attend(engine, job, waiting(0, SMI), waiting(1, SMI))
    assert len(engine.releases) == 1
    attend(engine, job, running(0), waiting(1, SMI))  # whatever became of the first leave
    assert len(engine.releases) == 2
    attend(engine, job, running(0), running(1))
    assert (job.state, job.started_at.timestamp()) == ("running", START)
    attend(engine, job, exited(0), exited(1))
    assert job.state == "succeeded"
    assert codes(job) == ["created", "deploying", "running", "succeeded"]


def test_the_launch_tells_what_to_look_at(engine, place):
    job = place(workers=2, gpus=8)
    attend(engine, job)
    check = engine.launches[0].check
    assert check.env["TRAINYARD_CHECK_PORT"] == "29500"
    assert json.loads(check.env["TRAINYARD_CHECK_MOUNTS"]) == []
    assert "MASTER_PORT" not in engine.launches[0].workers[0].env


def test_one_worker_needs_no_port(engine, place):
    job = place()
    assert job.attempts.get().port is None
    attend(engine, job)
    assert engine.launches[0].check is not None


def test_only_the_bad_node_is_left(engine, place, pool):
    job = place(workers=2, gpus=8)
    nodes = list(Worker.objects.order_by("rank").values_list("node", flat=True))
    bad = (waiting(0, LOST), waiting(1, SMI, others=({"item": "allreduce", "failed": "gone"}, *REST[:2])))
    attend(engine, job, *bad)
    assert engine.releases == []
    attend(engine, job, *bad)
    assert engine.stops[-1][1] == 0
    attend(engine, job, stopped(0), stopped(1))
    assert (job.state, job.restarts, job.platform_restarts) == ("queued", 0, 0)
    assert codes(job) == ["created", "deploying", "env_check_failed", "requeued"]
    assert not Hold.objects.exists()
    queue_cycle(pool.pk)
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("deploying", 2)
    after = set(Worker.objects.filter(attempt__number=2).values_list("node", flat=True))
    assert nodes[0] not in after
    assert nodes[1] in after
    attend(engine, job, waiting(0, SMI), waiting(1, LOST))
    attend(engine, job, waiting(0, SMI), waiting(1, LOST))
    attend(engine, job, stopped(0), stopped(1))
    assert (job.state, job.reason["code"], job.exit_code) == ("failed", "env_check", None)
    assert job.reason["data"]["rank"] == 1
    assert engine.releases == []
    assert not Hold.objects.exists()
    assert Node.objects.filter(idle__lt=8).count() == 0


def test_a_failure_is_told_once_whoever_sees_it(engine, place):
    job = place()
    for _ in range(3):
        attend(engine, job, waiting(0, LOST))
    assert codes(job).count("env_check_failed") == 1


def test_a_check_that_timed_out_is_a_failure(engine, place):
    job = place()
    attend(engine, job, waiting(0, SMI, outcome="timed_out", others=()))
    told = job.events.get(code="env_check_failed").data
    assert (told["item"], told["found"]) == ("rdma", "timed_out")


def test_a_node_that_went_meanwhile_is_no_trouble(engine, place):
    job = place()
    Worker.objects.update(node=None)
    attend(engine, job, waiting(0, LOST))
    attend(engine, job, stopped(0))
    assert job.state == "queued"
    assert Job.objects.get().avoided == ""


def test_a_node_on_which_several_workers_failed_is_avoided_once(engine, place, pool):
    job = place(workers=2, gpus=4)
    (node,) = set(Worker.objects.values_list("node", flat=True))
    attend(engine, job, waiting(0, LOST), waiting(1, LOST))
    attend(engine, job, stopped(0), stopped(1))
    assert (job.state, job.avoided) == ("queued", str(node))
    queue_cycle(pool.pk)
    job.refresh_from_db()
    assert job.state == "deploying"
    assert node not in Worker.objects.filter(attempt__number=2).values_list("node", flat=True)


def drain(job, _user):
    node_set_state(nodes=Node.objects.filter(workers__attempt__job=job), state=NodeState.DRAINED)
    faults_settle()


def ask_to_stop(job, user):
    job_stop(job=job, actor=user)


@pytest.mark.parametrize(("ask", "end"), [(drain, "queued"), (ask_to_stop, "stopped")])
def test_no_leave_is_given_to_what_is_to_end(engine, place, user, ask, end):
    job = place()
    attend(engine, job, waiting(0))
    ask(job, user)
    attend(engine, job, waiting(0, SMI))  # the check ends after the end was asked for, and all is well
    assert Worker.objects.get().env_check is not None
    assert engine.releases == []
    assert engine.stops
    attend(engine, job, stopped(0))
    assert (job.state, engine.releases) == (end, [])


def said(text):
    check = CheckLook("done", text, START, START + 5)
    return WorkerLook(0, Phase.STARTING, step="env_check", steps=STEPS, check=check)


@pytest.mark.parametrize(
    "text",
    [
        '{"item": "gpu", "driver": 1, "devices": NaN, "status": null}',
        '{"item": "gpu", "status": 1, "lines": ["\\u0000 \\ud800"]}',
        '{"item": "gpu", "status": 0, "lines": 7}',
        '{"item": "gpu", "driver": 1, "devices": "8", "status": null}',
        '{"item": "gpu", "lines": ' + "[" * 50_000 + "]" * 50_000 + "}",
        '{"item": "gpu", "failed": "\0 \ud800"}',
        '{"item": "runtime", "torch": "\\u0000", "available": 1, "devices": Infinity}',
        '{"item": "rdma", "ports": [{"state": "ACTIVE", "rate": "\\udfff\\u0000"}]}',
    ],
)
def test_whatever_a_job_prints_it_is_kept_and_a_stop_is_heard(engine, place, user, text):
    job = place()
    attend(engine, job, said(text))
    kept = Worker.objects.get().env_check
    assert [item.item for item in items_of(kept)] == ["gpu", "rdma", "storage", "runtime", "allreduce"]
    assert "env_check_failed" in codes(job)
    job_stop(job=job, actor=user)
    attend(engine, job, said(text))
    assert engine.stops
    attend(engine, job, stopped(0))
    assert job.state in ("stopped", "queued")
    assert not Hold.objects.exists()


def test_trouble_with_the_checks_keeps_nobody_from_stopping(engine, place, user, monkeypatch):
    def broken(*_):
        raise TypeError("what a judge did not expect")

    monkeypatch.setattr(checked, "report_of", broken)
    job = place()
    attend(engine, job, waiting(0, SMI))
    assert (job.deploy_step, engine.releases, engine.stops) == ("env_check", [], [])
    job_stop(job=job, actor=user)
    attend(engine, job, waiting(0, SMI))
    assert engine.stops
    attend(engine, job, stopped(0))
    assert (job.state, job.reason["code"]) == ("stopped", "stopped_by_user")
    assert not Hold.objects.exists()


def test_a_failure_is_told_also_when_no_look_carries_a_check_any_more(engine, place):
    job = place(workers=2, gpus=8)
    attend(engine, job, waiting(0, LOST), waiting(1))
    worker = Worker.objects.get(rank=1)
    worker.env_check = Worker.objects.get(rank=0).env_check
    worker.save()
    attempt = Attempt.objects.get()
    workers = list(attempt.workers.order_by("rank"))
    checked.record_culprits(job, attempt, workers, (waiting(0), waiting(1)))
    assert codes(job).count("env_check_failed") == 1
    assert Attempt.objects.get().deployment["broken"]["at"] == START + 5


def test_the_request_is_read_once_for_all_workers(engine, place, monkeypatch):
    asked, read = [], checked.asked_of
    monkeypatch.setattr(checked, "asked_of", lambda *given: asked.append(given) or read(*given))
    job = place(workers=2, gpus=8)
    attend(engine, job, waiting(0, SMI), waiting(1, SMI))
    attend(engine, job, waiting(0, SMI), waiting(1, SMI))
    assert len(asked) == 1
    assert len(engine.releases) == 2
    assert [next(i.code for i in items_of(w.env_check)) for w in Worker.objects.all()] == ["gpu_seen"] * 2
