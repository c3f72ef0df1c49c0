"""The queue cycle on the database: what starts holds exactly its GPUs, and every count stays right."""

from datetime import timedelta
from functools import partial
from io import StringIO
from itertools import pairwise
from threading import Thread

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, connections, transaction
from django.utils import timezone

from jobs.lifecycle import move
from jobs.models import Attempt, Job, WaitingTotal, Worker
from jobs.reasons import job_waiting
from jobs.scheduling import queue_cycle, queue_tick, stops_settle, waits_end
from jobs.services import job_create, job_stop
from jobs.states import State
from pools.models import Flavor, Grant, Hold, Node, NodeState, Pool
from pools.services import node_set_state, nodes_create
from tests.factories import make_job, make_pool, make_spec, make_team, make_user, occupy

pytestmark = pytest.mark.django_db


def recount():
    call_command("recount", stdout=StringIO())


def states():
    return list(Job.objects.order_by("pk").values_list("state", flat=True))


@pytest.fixture
def team():
    return make_team()


@pytest.fixture
def user(team):
    return make_user(team)


def test_a_job_that_fits_is_placed_with_its_holds(team, user):
    pool = make_pool(team, nodes=2)
    job = make_job(user, pool, gpus=8, workers=2, framework="pytorch_ddp")
    assert queue_cycle(pool.pk) == 1
    job.refresh_from_db()
    assert (job.state, job.attempt, job.deploy_step) == ("deploying", 1, "allocate")
    workers = list(Worker.objects.filter(attempt__job=job))
    assert [w.gpus for w in workers] == [list(range(8))] * 2
    assert Hold.objects.count() == 16
    assert {h.worker_id for h in Hold.objects.all()} == {w.pk for w in workers}
    assert Flavor.objects.get().idle_nodes == [2, 0, 0, 0, 0, 0, 0, 0, 0]
    assert Grant.objects.get().held_gpus == 16
    assert Attempt.objects.get().port == 29500
    assert [e.code for e in job.events.all()] == ["created", "deploying"]
    recount()


def test_ending_gives_everything_back(team, user):
    pool = make_pool(team, nodes=2)
    job = make_job(user, pool, gpus=4, workers=3)
    queue_cycle(pool.pk)
    move([job.pk], State.DEPLOYING, State.RUNNING)
    assert move([job.pk], State.RUNNING, State.SUCCEEDED) == [job.pk]
    assert Hold.objects.count() == 0
    assert Flavor.objects.get().idle_nodes == [0] * 8 + [2]
    assert Grant.objects.get().held_gpus == 0
    assert Attempt.objects.get().ended_at is not None
    assert Worker.objects.count() == 3
    recount()


def test_ports_are_unique_among_live_attempts(team, user):
    pool = make_pool(team)
    jobs = [make_job(user, pool, framework="pytorch_ddp") for _ in range(3)]
    make_job(user, pool)
    queue_cycle(pool.pk)
    assert sorted(p for p in Attempt.objects.values_list("port", flat=True) if p) == [29500, 29501, 29502]
    move([jobs[0].pk], State.DEPLOYING, State.FAILED)
    make_job(user, pool, framework="pytorch_ddp")
    queue_cycle(pool.pk)
    assert Attempt.objects.latest("pk").port == 29500


def test_gpus_of_a_node_are_given_once_and_lowest_first(team, user):
    pool = make_pool(team, nodes=1)
    jobs = [make_job(user, pool, gpus=gpus) for gpus in (2, 4, 1)]
    queue_cycle(pool.pk)
    assert [w.gpus for w in Worker.objects.order_by("pk")] == [[0, 1], [2, 3, 4, 5], [6]]
    move([jobs[0].pk], State.DEPLOYING, State.FAILED)
    make_job(user, pool, gpus=2)
    queue_cycle(pool.pk)
    assert Worker.objects.latest("pk").gpus == [0, 1]
    recount()


def test_the_database_refuses_a_gpu_given_twice(team):
    make_pool(team, nodes=1)
    node = Node.objects.get()
    Hold.objects.create(node=node, gpu=0, worker_id=1)
    with pytest.raises(IntegrityError), transaction.atomic():
        Hold.objects.create(node=node, gpu=0, worker_id=2)


def test_free_gpus_that_no_node_can_give(team, user):
    pool = make_pool(team, nodes=3)
    occupy(pool, [5, 5, 6])
    big = make_job(user, pool, gpus=8)
    make_job(user, pool, gpus=2)
    queue_cycle(pool.pk)
    assert states() == ["queued", "deploying"]
    assert Flavor.objects.get().head_job == big.pk


def test_strict_fifo_waits_for_the_head(team, user):
    pool = make_pool(team, nodes=2, discipline="strict_fifo")
    occupy(pool, [1, 1])
    make_job(user, pool, gpus=8)
    make_job(user, pool, gpus=1)
    queue_cycle(pool.pk)
    assert states() == ["queued", "queued"]


def test_quota_holds_back_one_team_only(user, team):
    other = make_team()
    pool = make_pool(team, other, nodes=2, max_gpus=8)
    Grant.objects.filter(team=other).update(max_gpus=None)
    first = make_job(user, pool, gpus=8)
    make_job(user, pool, gpus=1)
    make_job(make_user(other), pool, gpus=8, team=other.pk)
    queue_cycle(pool.pk)
    assert states() == ["deploying", "queued", "deploying"]
    move([first.pk], State.DEPLOYING, State.FAILED)
    queue_cycle(pool.pk)
    assert states() == ["failed", "deploying", "deploying"]
    recount()


def test_two_gangs_of_three_on_four_nodes_never_hold_parts(team, user):
    pool = make_pool(team, nodes=4)
    first = make_job(user, pool, gpus=8, workers=3)
    make_job(user, pool, gpus=8, workers=3)
    queue_cycle(pool.pk)
    assert states() == ["deploying", "queued"]
    assert Hold.objects.count() == 24
    move([first.pk], State.DEPLOYING, State.FAILED)
    queue_cycle(pool.pk)
    assert states() == ["failed", "deploying"]
    assert Hold.objects.count() == 24


def test_an_unreached_head_keeps_its_place(team, user, monkeypatch):
    pool = make_pool(team, nodes=2)
    occupy(pool, [1, 0])
    head = make_job(user, pool, gpus=8, workers=2, priority="low")
    queue_cycle(pool.pk)
    since = Flavor.objects.get().head_since
    monkeypatch.setattr("jobs.scheduling.MOST_STARTS", 1)
    monkeypatch.setattr("jobs.scheduling.MOST_ROUNDS", 1)
    for _ in range(3):
        make_job(user, pool)
    queue_cycle(pool.pk)
    assert (Flavor.objects.get().head_job, Flavor.objects.get().head_since) == (head.pk, since)


def test_a_pause_does_not_make_the_head_young_again(team, user):
    pool = make_pool(team, nodes=1)
    occupy(pool, [1])
    head = make_job(user, pool, gpus=8)
    queue_cycle(pool.pk)
    since = Flavor.objects.get().head_since
    Pool.objects.update(paused=True)
    queue_cycle(pool.pk)
    assert (Flavor.objects.get().head_job, Flavor.objects.get().head_since) == (head.pk, since)


def test_the_trouble_of_one_pool_is_not_that_of_others(team, user, monkeypatch):
    broken, fine = make_pool(team), make_pool(team)
    make_job(user, broken)
    job = make_job(user, fine)
    Flavor.objects.filter(pool=broken).update(idle_nodes="nonsense")
    queue_tick()
    job.refresh_from_db()
    assert job.state == "deploying"


def test_place_and_reason_of_equal_jobs(team, user):
    pool = make_pool(team, nodes=2, max_gpus=16)
    jobs = [make_job(user, pool, gpus=8) for _ in range(4)]
    told = [job_waiting(job) for job in jobs]
    assert [place.position for place, _ in told] == [1, 2, 3, 4]
    assert [reason and reason.code for _, reason in told] == [None, None, "quota", "quota"]


def test_a_job_whose_grant_was_taken_says_so(team, user):
    pool = make_pool(team)
    job = make_job(user, pool)
    Grant.objects.all().delete()
    queue_cycle(pool.pk)
    place, reason = job_waiting(job)
    assert (place.position, reason.code) == (1, "not_granted")


def test_cordoned_and_down_nodes_give_nothing(team, user):
    pool = make_pool(team, nodes=3)
    names = list(Node.objects.values_list("name", flat=True))
    node_set_state(nodes=Node.objects.filter(name=names[0]), state=NodeState.CORDONED)
    node_set_state(nodes=Node.objects.filter(name=names[1]), state=NodeState.DOWN)
    assert Flavor.objects.get().idle_nodes == [0] * 8 + [1]
    make_job(user, pool, gpus=8, workers=2)
    queue_cycle(pool.pk)
    assert states() == ["queued"]
    node_set_state(nodes=Node.objects.filter(name=names[0]), state=NodeState.READY)
    queue_cycle(pool.pk)
    assert states() == ["deploying"]
    recount()


def test_a_node_cordoned_under_a_job_comes_back_when_it_is_ready_again(team, user):
    pool = make_pool(team, nodes=1)
    job = make_job(user, pool, gpus=4)
    queue_cycle(pool.pk)
    node_set_state(nodes=Node.objects.all(), state=NodeState.CORDONED)
    assert Flavor.objects.get().idle_nodes == [0] * 9
    move([job.pk], State.DEPLOYING, State.FAILED)
    assert Flavor.objects.get().idle_nodes == [0] * 9
    recount()
    node_set_state(nodes=Node.objects.all(), state=NodeState.READY)
    assert Flavor.objects.get().idle_nodes == [0] * 8 + [1]


def test_a_node_with_workers_cannot_be_retired(team, user):
    pool = make_pool(team, nodes=1)
    make_job(user, pool)
    queue_cycle(pool.pk)
    with pytest.raises(ValueError, match="cannot be retired"):
        node_set_state(nodes=Node.objects.all(), state=NodeState.RETIRED)
    assert Node.objects.get().state == "ready"


def test_nodes_added_later_count(team, user):
    pool = make_pool(team, nodes=1)
    make_job(user, pool, gpus=8)
    queue_cycle(pool.pk)
    nodes_create(flavor=Flavor.objects.get(), names=["new"])
    make_job(user, pool, gpus=8)
    queue_cycle(pool.pk)
    assert states() == ["deploying", "deploying"]
    recount()


def test_a_stop_asked_for_on_the_way_back_to_the_queue_is_settled(team, user):
    pool = make_pool(team)
    job = make_job(user, pool)
    Job.objects.filter(pk=job.pk).update(stop_requested_at=job.created_at, stop_requested_by=user)
    queue_cycle(pool.pk)
    assert states() == ["queued"]
    assert stops_settle() == [job.pk]
    job.refresh_from_db()
    assert (job.state, job.reason["code"]) == ("stopped", "stopped_by_user")
    assert job.events.last().actor == user
    recount()


def test_a_job_that_waited_for_too_long_is_stopped(team, user):
    pool = make_pool(team, nodes=1)
    occupy(pool, [8])
    impatient, patient, endless = (make_job(user, pool, max_queue_minutes=n) for n in (5, 60, None))
    assert impatient.queue_until == impatient.created_at + timedelta(minutes=5)
    assert endless.queue_until is None
    queue_tick()
    assert states() == ["queued"] * 3
    Job.objects.filter(pk=impatient.pk).update(queue_until=timezone.now())
    queue_tick()
    impatient.refresh_from_db()
    assert states() == ["stopped", "queued", "queued"]
    assert impatient.reason == {"code": "queue_timeout", "data": {"minutes": 5}}
    assert impatient.events.last().actor is None
    assert WaitingTotal.objects.get().jobs == 2
    assert not Job.objects.filter(queue_until__isnull=False).exclude(pk=patient.pk).exists()


def test_the_maximum_waiting_time_is_none_of_a_running_job(team, user):
    pool = make_pool(team)
    job = make_job(user, pool, max_queue_minutes=5)
    queue_cycle(pool.pk)
    job.refresh_from_db()
    assert job.queue_until is None
    before = timezone.now()
    move([job.pk], State.DEPLOYING, State.QUEUED)
    job.refresh_from_db()
    assert job.queue_until >= before + timedelta(minutes=5)


def test_looking_for_overdue_jobs_costs_the_same_whatever_waits(team, user, django_assert_num_queries):
    pool = make_pool(team, nodes=1)
    occupy(pool, [8])
    for _ in range(20):
        make_job(user, pool, max_queue_minutes=60)
    with django_assert_num_queries(1) as seen:
        assert waits_end() == []
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {'QUERY PLAN ' * (connection.vendor == 'sqlite')}{seen[0]['sql']}")
        plan = str(cursor.fetchall())
    assert "job_queue_until" in plan or connection.vendor != "sqlite"


def test_a_full_pool_costs_the_same_queries_whatever_waits(team, user, django_assert_max_num_queries):
    pool = make_pool(team, nodes=1)
    occupy(pool, [8])
    for _ in range(3):
        make_job(user, pool)
    queue_cycle(pool.pk)
    with django_assert_max_num_queries(8):
        queue_cycle(pool.pk)
    for _ in range(20):
        make_job(user, pool)
    with django_assert_max_num_queries(8):
        queue_cycle(pool.pk)


def test_recount_finds_and_mends_a_wrong_count(team, user):
    pool = make_pool(team)
    make_job(user, pool)
    Flavor.objects.update(idle_nodes=[9] * 9)
    WaitingTotal.objects.update(jobs=7)
    with pytest.raises(CommandError, match="2 counts are wrong"):
        recount()
    call_command("recount", "--fix", stdout=StringIO())
    recount()
    assert Flavor.objects.get().idle_nodes == [0] * 8 + [4]
    assert WaitingTotal.objects.get().jobs == 1


def run_all(*threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Failing(Thread):
    """A thread that keeps what went wrong in it, and closes its connection."""

    def __init__(self, work):
        super().__init__()
        self.work, self.error = work, None

    def run(self):
        try:
            self.work()
        except Exception as error:
            self.error = error
        finally:
            connections.close_all()


@pytest.mark.django_db(transaction=True)
def test_twenty_creates_at_once_and_cycles_between_never_double_book():
    team = make_team()
    user = make_user(team)
    pool = make_pool(team, nodes=1)
    spec = make_spec(pool, gpus=8)
    seen = []

    def create():
        job_create(user=user, spec=spec)
        queue_cycle(pool.pk)
        seen.append(Hold.objects.count())

    threads = [Failing(create) for _ in range(20)]
    run_all(*threads)
    assert [t.error for t in threads if t.error] == []
    assert max(seen) == 8
    order = []
    for _ in range(20):
        running = Job.objects.get(state="deploying")
        order.append(running.pk)
        move([running.pk], State.DEPLOYING, State.FAILED)
        queue_cycle(pool.pk)
    assert order == sorted(order)
    assert states() == ["failed"] * 20
    recount()


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
def test_a_stop_during_a_cycle_never_deadlocks():
    team = make_team()
    user = make_user(team)
    pool = make_pool(team, nodes=4)
    for _ in range(200):
        jobs = [make_job(user, pool, gpus=1) for _ in range(3)]
        threads = [
            Failing(partial(queue_cycle, pool.pk)),
            Failing(partial(job_stop, job=jobs[0], actor=user)),
            Failing(partial(move, [j.pk for j in reversed(jobs)], State.DEPLOYING, State.FAILED)),
        ]
        run_all(*threads)
        assert [t.error for t in threads if t.error] == []
        move([j.pk for j in jobs], State.DEPLOYING, State.FAILED)
        move([j.pk for j in jobs], State.QUEUED, State.STOPPED)
    recount()


def test_events_of_one_job_are_in_order(team, user):
    pool = make_pool(team)
    job = make_job(user, pool)
    queue_cycle(pool.pk)
    move([job.pk], State.DEPLOYING, State.RUNNING)
    move([job.pk], State.RUNNING, State.FAILED)
    times = [e.at for e in job.events.all()]
    assert all(a <= b for a, b in pairwise(times))
    assert Pool.objects.get().jobs.get().ended_at == times[-1]
