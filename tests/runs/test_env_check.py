"""When commands may run after the check, and what a failure leads to: moments set by a stand-in."""

import json

import pytest

from engines.base import CheckLook, Phase, WorkerLook
from jobs.models import Job, Worker
from jobs.scheduling import queue_cycle
from pools.models import Hold, Node
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
