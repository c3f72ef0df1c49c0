"""Back to the queue without spending a restart, nodes to avoid, and the priority of a waiting job."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.counting import counts_compare
from jobs.facts import NodesFacts
from jobs.findings import Reason
from jobs.lifecycle import move, prioritize, requeue
from jobs.models import Job, WaitingTotal
from jobs.queue import MOST_AVOIDED
from jobs.queued import marked_read, nodes_read, waiting_read
from jobs.reasons import job_waiting
from jobs.scheduling import queue_cycle
from jobs.services import job_estimate, job_stop
from jobs.states import Priority, State
from jobs.waiting import queue_read
from pools.models import Hold, Node, Pool
from pools.placement import MarkedNode
from tests.factories import make_job, make_pool, make_spec, make_team, make_user, occupy

pytestmark = pytest.mark.django_db
LOST = Reason("node_lost", {"node": "n"})


@pytest.fixture
def team():
    return make_team()


@pytest.fixture
def user(team):
    return make_user(team)


def placed(user, pool, **fields):
    job = make_job(user, pool, **fields)
    queue_cycle(pool.pk)
    job.refresh_from_db()
    assert job.state == "deploying"
    return job


def node_of(job):
    return Node.objects.get(workers__attempt__job=job, workers__attempt__number=job.attempt)


def recount():
    """All counts are right, but for the GPUs that `occupy` has taken for nobody."""
    for pool in Pool.objects.all():
        assert [wrong for wrong in counts_compare(pool_id=pool.pk) if wrong.what != "holds"] == []


def test_it_goes_to_another_node(team, user):
    pool = make_pool(team, nodes=2)
    job = placed(user, pool, gpus=8)
    first = node_of(job)
    assert requeue(job.pk, State.DEPLOYING, reason=LOST, avoid=[first.pk])
    job.refresh_from_db()
    assert (job.state, job.restarts, job.platform_restarts) == ("queued", 0, 0)
    assert not Hold.objects.exists()
    told = job.events.last()
    assert (told.code, told.data) == ("requeued", {"reason": LOST.as_json()})
    recount()
    assert job_waiting(job)[1] is None
    queue_cycle(pool.pk)
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("deploying", 2)
    assert node_of(job) != first
    recount()


def test_while_only_the_avoided_node_has_room_it_says_so_everywhere(team, user):
    pool = make_pool(team, nodes=2)
    job = placed(user, pool, gpus=8)
    first = node_of(job)
    requeue(job.pk, State.DEPLOYING, reason=LOST, avoid=[first.pk])
    younger = make_job(user, pool, gpus=8)
    occupy(pool, [0, 8] if first.name.endswith("00") else [8, 0])
    job.refresh_from_db()
    place, reason = job_waiting(job)
    assert (place.position, reason.code, reason.data) == (1, "avoided", {"nodes": [first.name]})
    place, reason = job_waiting(younger)
    assert (place.position, reason) == (2, None)
    rows = queue_read(pool=pool, teams={team.pk}).rows
    assert [row.reason and row.reason.code for row in rows] == ["avoided", None]
    judged = job_estimate(user=user, spec=make_spec(pool, gpus=8))
    assert (judged.starts_now, judged.reason.code) == (False, "capacity")
    queue_cycle(pool.pk)
    assert list(Job.objects.order_by("pk").values_list("state", flat=True)) == ["queued", "deploying"]
    recount()


def test_a_new_job_is_told_that_the_node_is_left_to_it(team, user):
    pool = make_pool(team, nodes=2)
    job = placed(user, pool, gpus=8)
    first = node_of(job)
    requeue(job.pk, State.DEPLOYING, reason=LOST, avoid=[first.pk])
    occupy(pool, [0, 8] if first.name.endswith("00") else [8, 0])
    assert job_estimate(user=user, spec=make_spec(pool, gpus=8)).starts_now


def test_counted_ones_are_bounded(team, user):
    pool = make_pool(team, nodes=2)
    job = placed(user, pool)
    move([job.pk], State.DEPLOYING, State.RUNNING)
    assert requeue(job.pk, State.RUNNING, reason=LOST, most=1)
    assert Job.objects.get().events.last().data == {"reason": LOST.as_json(), "restart": 1, "most": 1}
    queue_cycle(pool.pk)
    assert not requeue(job.pk, State.DEPLOYING, reason=LOST, most=1)
    job.refresh_from_db()
    assert (job.state, job.platform_restarts) == ("deploying", 1)


def test_a_stop_comes_first(team, user):
    job = placed(user, make_pool(team))
    job_stop(job=job, actor=user)
    assert not requeue(job.pk, State.DEPLOYING, reason=LOST)
    assert Job.objects.get().state == "deploying"


def test_a_job_that_avoids_nodes_waits_in_another_class(team, user):
    pool = make_pool(team, nodes=2)
    job = placed(user, pool)
    make_job(user, pool)
    nodes = set(Node.objects.values_list("pk", flat=True))
    requeue(job.pk, State.DEPLOYING, reason=LOST, avoid=nodes)
    assert WaitingTotal.objects.count() == 2
    job.refresh_from_db()
    assert job.waiting_class.avoided == nodes
    recount()
    move([job.pk], State.QUEUED, State.STOPPED)
    recount()


def test_of_too_many_nodes_the_last_met_are_avoided(team, user):
    """However their ids compare with those of the earlier ones."""
    pool = make_pool(team)
    job = placed(user, pool)
    earlier = list(range(10**18, 10**18 + MOST_AVOIDED))
    for nodes in (earlier, [10**17]):
        assert requeue(job.pk, State.DEPLOYING, reason=LOST, avoid=nodes)
        queue_cycle(pool.pk)
    job.refresh_from_db()
    assert job.waiting_class.avoided == {10**17, *earlier[1:]}


def test_only_avoided_nodes_are_read_to_judge(team, user):
    pool = make_pool(team, nodes=4)
    job = placed(user, pool, gpus=8)
    first, other = node_of(job), Node.objects.last()
    requeue(job.pk, State.DEPLOYING, reason=LOST, avoid=[first.pk, other.pk])
    Node.objects.filter(pk=other.pk).update(schedulable=False)
    marked = {first.pk: MarkedNode(first.name, True), other.pk: MarkedNode(other.name, False)}
    assert nodes_read(waiting_read(pool.pk)) == {first.flavor_id: NodesFacts({first.pk: 8}, marked)}


def test_only_nodes_of_the_flavor_are_read_as_avoided(team):
    mine, other = (Node.objects.filter(flavor__pool=make_pool(team, nodes=1)).get() for _ in range(2))
    assert list(marked_read(mine.flavor_id, [mine.pk, other.pk])) == [mine.pk]


def test_what_nobody_avoids_costs_no_query_more(team, user):
    pool = make_pool(team, nodes=1)
    occupy(pool, [8])
    make_job(user, pool)
    queue_cycle(pool.pk)
    with CaptureQueriesContext(connection) as usual:
        queue_cycle(pool.pk)
    assert not [query for query in usual if 'FROM "pools_node"' in query["sql"]]


def test_a_waiting_job_gets_another_priority(team, user):
    pool = make_pool(team, nodes=1)
    occupy(pool, [8])
    first, second = (make_job(user, pool) for _ in range(2))
    assert prioritize(first.pk, Priority.LOW, actor=user)
    first.refresh_from_db()
    told = first.events.last()
    assert (told.code, told.actor, told.data) == ("priority_changed", user, {"old": "normal", "new": "low"})
    assert job_waiting(first)[0].position == 2
    assert job_waiting(second)[0].position == 1
    recount()
    assert prioritize(first.pk, Priority.LOW, actor=user)
    assert first.events.count() == 2


def test_one_that_does_not_wait_keeps_its_priority(team, user):
    job = placed(user, make_pool(team))
    assert not prioritize(job.pk, Priority.LOW, actor=user)
    assert Job.objects.get().priority == Priority.NORMAL
