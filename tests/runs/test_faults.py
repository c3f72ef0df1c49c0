"""Nodes that are drained or go down under jobs: who is queued again, restarted elsewhere, or fails."""

import time
from dataclasses import replace
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from engines.base import Phase, WorkerLook
from jobs.counting import counts_compare
from jobs.faults import MOST_PLATFORM_RESTARTS, faults_settle, jobs_concerned
from jobs.models import Attempt, Job
from jobs.scheduling import queue_cycle, queue_tick
from jobs.services import job_stop
from jobs.tasks import queue_cycle as queue_cycle_task
from pools.models import Hold, Node, NodeState
from pools.services import node_set_state
from runs import watching
from runs.launching import attempt_key
from tests.factories import make_job, make_pool, make_user
from tests.jobs.pages import Page
from tests.runs.stand_in import attend, codes, exited, running

pytestmark = pytest.mark.django_db


@pytest.fixture
def pool(user):
    return make_pool(user.memberships.get().team, nodes=3)


@pytest.fixture
def place(user, pool):
    def make(**fields):
        job = make_job(user, pool, **{"gpus": 8} | fields)
        queue_cycle(pool.pk)
        job.refresh_from_db()
        assert job.state == "deploying"
        return job

    return make


@pytest.fixture
def runs(engine, place):
    """Makes a job that runs, on one node; with automatic restart unless told otherwise."""

    def make(**fields):
        job = place(**{"auto_restart": True} | fields)
        attend(engine, job, running())
        assert job.state == "running"
        return job

    return make


def nodes_of(job):
    return Node.objects.filter(workers__attempt__job=job, workers__attempt__number=job.attempt)


def take(job, state=NodeState.DRAINED):
    """Takes the first node of the job; answers it."""
    node = nodes_of(job).order_by("name").first()
    node_set_state(nodes=Node.objects.filter(pk=node.pk), state=state)
    faults_settle()
    return node


def again(job):
    queue_tick()
    job.refresh_from_db()


def right(pool):
    return counts_compare(pool_id=pool.pk) == []


ended = exited(code=143, stopped=True)


def test_what_has_not_started_is_queued_again_for_nothing(engine, place, pool):
    job = place(auto_restart=False)
    node = take(job)
    attend(engine, job)
    assert engine.launches == []
    assert engine.stops == [(attempt_key(job), 0)]
    assert (job.state, job.restarts, job.platform_restarts, job.avoided) == ("queued", 0, 0, "")
    assert codes(job) == ["created", "deploying", "node_fault", "requeued"]
    assert job.events.last().data["reason"] == {
        "code": "drained",
        "data": {"node": node.name, "nodes": [node.name]},
    }
    assert job.eligible_at <= timezone.now()
    again(job)
    assert (job.state, job.attempt) == ("deploying", 2)
    assert nodes_of(job).get() != node
    assert right(pool)


def test_one_whose_start_is_under_way_is_waited_for(engine, place):
    job = place()
    attend(engine, job, WorkerLook(0, Phase.STARTING))
    take(job)
    attend(engine, job, WorkerLook(0, Phase.STARTING))
    assert (job.state, engine.stops) == ("deploying", [(attempt_key(job), 30)])
    assert Hold.objects.count() == 8
    attend(engine, job, WorkerLook(0, Phase.EXITED, stopped=True, ended_at=1.0))
    assert (job.state, job.restarts) == ("queued", 0)


def test_a_running_one_leaves_in_peace_and_never_comes_back_there(engine, runs, pool):
    job = runs(stop_grace_seconds=77)
    node = take(job)
    attend(engine, job, running())
    assert engine.stops == [(attempt_key(job), 77)]
    assert (job.state, job.stopping, Hold.objects.count()) == ("running", False, 8)
    attend(engine, job, ended)
    assert (job.state, job.restarts, job.platform_restarts) == ("queued", 0, 1)
    assert not Hold.objects.exists()
    assert (job.exit_code, job.reason, job.started_at) == (None, None, None)
    assert job.events.last().data["restart"] == 1
    node_set_state(nodes=Node.objects.filter(pk=node.pk), state=NodeState.READY)
    again(job)
    assert job.state == "deploying"
    assert nodes_of(job).get() != node
    assert right(pool)


def test_a_node_that_is_down_gives_no_long_grace(engine, runs):
    job = runs(stop_grace_seconds=3600)
    node = take(job, NodeState.DOWN)
    attend(engine, job, running())
    assert engine.stops == [(attempt_key(job), 5)]
    attend(engine, job, WorkerLook(0, Phase.LOST, started_at=1.0))
    assert (job.state, job.restarts) == ("queued", 0)
    assert job.events.last().data["reason"]["code"] == "node_lost"
    assert job.waiting_class.avoided == {node.pk}


@pytest.mark.parametrize(("state", "code"), [(NodeState.DRAINED, "drained"), (NodeState.DOWN, "node_lost")])
def test_who_did_not_ask_for_restarts_fails_and_is_told_where(engine, runs, pool, state, code):
    job = runs(auto_restart=False)
    node = take(job, state)
    attend(engine, job, ended)
    assert (job.state, job.reason["code"], job.exit_code) == ("failed", code, None)
    assert job.reason["data"]["node"] == node.name
    assert not Hold.objects.exists()
    assert right(pool)


def test_the_sixth_time_it_fails(engine, runs):
    job = runs(max_restarts=1)
    Job.objects.update(platform_restarts=MOST_PLATFORM_RESTARTS - 1)
    take(job)
    attend(engine, job, ended)
    assert (job.state, job.platform_restarts, job.restarts) == ("queued", 5, 0)
    again(job)
    attend(engine, job, running())
    take(job)
    assert jobs_concerned(nodes_of(job).values_list("pk", flat=True))[0].fate == ""
    attend(engine, job, ended)
    assert (job.state, job.reason["code"], job.platform_restarts) == ("failed", "drained", 5)
    assert job.events.last().data["platform_restarts_used_up"] == 5


def test_one_node_of_several_is_enough(engine, place):
    job = place(workers=2, auto_restart=True)
    attend(engine, job, running(0), running(1))
    node = take(job)
    attend(engine, job, running(0), running(1))
    attend(engine, job, exited(0, 143, stopped=True), running(1))
    assert (job.state, Hold.objects.count()) == ("running", 16)
    attend(engine, job, exited(0, 143, stopped=True), exited(1, 143, stopped=True))
    assert job.state == "queued"
    assert job.waiting_class.avoided == {node.pk}


def test_a_stop_comes_before_the_fault(engine, runs, user):
    job = runs()
    take(job)
    job_stop(job=job, actor=user)
    attend(engine, job, ended)
    assert (job.state, job.reason["code"], job.platform_restarts) == ("stopped", "stopped_by_user", 0)


def test_a_stop_of_one_that_waits_again_ends_it(engine, runs, user):
    job = runs()
    take(job)
    attend(engine, job, ended)
    job_stop(job=job, actor=user)
    again(job)
    assert job.state == "stopped"


@pytest.mark.parametrize(
    ("look", "state", "restarts"),
    [(exited(code=0), "succeeded", 0), (exited(code=3), "queued", 1)],
)
def test_what_ended_by_itself_has_ended_so(engine, runs, look, state, restarts):
    job = runs()
    take(job)
    attend(engine, job, look)
    assert (job.state, job.restarts, job.platform_restarts) == (state, restarts, 0)


def test_a_command_that_ends_well_when_told_to_go_has_not_succeeded(engine, runs):
    job = runs()
    take(job)
    attend(engine, job, replace(exited(stopped=True), ended_at=time.time() + 1))
    assert (job.state, job.platform_restarts) == ("queued", 1)


def test_the_maximum_running_time_may_be_over_before(engine, runs):
    job = runs(max_runtime_minutes=5)
    take(job)
    attend(engine, job, running())
    attend(engine, job, ended)
    assert (job.state, job.reason["code"]) == ("stopped", "max_runtime")


def test_it_is_told_once_and_what_the_hint_lost_the_tick_finds(engine, runs):
    job = runs()
    node_set_state(nodes=nodes_of(job), state=NodeState.DRAINED)
    queue_cycle_task(job.pool_id)
    queue_tick()
    assert faults_settle() == []
    assert codes(job).count("node_fault") == 1


def test_cordoned_nodes_keep_their_jobs(engine, runs):
    job = runs()
    node_set_state(nodes=nodes_of(job), state=NodeState.CORDONED)
    assert faults_settle() == []
    attend(engine, job, running())
    assert (job.state, engine.stops) == ("running", [])


def test_a_node_that_is_back_does_not_keep_what_was_told_to_leave(engine, runs):
    job = runs()
    node = take(job)
    node_set_state(nodes=Node.objects.filter(pk=node.pk), state=NodeState.READY)
    attend(engine, job, ended)
    assert job.state == "queued"


def test_times_and_page(engine, runs, user, client, api):
    client.force_login(user)
    job = runs()
    node = take(job)
    page = client.get(f"/jobs/{job.key}/").content.decode()
    assert f"An administrator drained {node.name}: its Workers are being ended" in page
    assert "latform fault" not in page
    Attempt.objects.update(placed_at=timezone.now() - timedelta(hours=1))
    attend(engine, job, ended)
    page = client.get(f"/jobs/{job.key}/").content.decode()
    assert "after lost or drained nodes 1 of 5" in page
    events = api(user).get(f"/api/v1/jobs/{job.key}/events/").json()["results"]
    assert [e["code"] for e in events][-2:] == ["node_fault", "requeued"]


@pytest.mark.parametrize(
    ("state", "fields", "lasts", "fate", "event"),
    [
        (
            *(NodeState.DRAINED, {"stop_grace_seconds": 77}, 77, "restarts on other nodes"),
            "An administrator drained",
        ),
        (NodeState.DOWN, {"auto_restart": False}, 5, "fails: it may not", "Platform fault on "),
    ],
)
def test_one_that_leaves_says_so_until_it_is_gone(
    engine, runs, user, client, state, fields, lasts, fate, event
):
    client.force_login(user)
    job = runs(**fields)
    assert "eaving its node" not in client.get(f"/jobs/{job.key}/").content.decode()
    node = take(job, state)
    attend(engine, job, running())
    assert job.state == "running"
    shown = Page(client.get(f"/jobs/{job.key}/"))
    assert "Leaving its node" in shown.by_id("live-head").text
    told = " ".join(shown.by_id("live-trouble").text.split())
    until = Attempt.objects.get().fault_at + timedelta(seconds=lasts)
    assert f"{until:%Y-%m-%d %H:%M:%S} UTC" in told
    assert node.name in told
    assert fate in told
    assert event in shown.by_id("live-events").text
    assert "Leave the node" in shown.by_id("live-timeline").text
    for address in ("/jobs/", "/", f"/jobs/{job.key}/progress/"):
        assert "Leaving its node" in client.get(address).content.decode()
    attend(engine, job, ended)
    assert "Leaving its node" not in client.get("/jobs/").content.decode()


# -- the admin's action --------------------------------------------------------------------------


def act(client, name, nodes, **more):
    address = reverse("admin:pools_node_changelist")
    data = {"action": name, "_selected_action": [node.pk for node in nodes], **more}
    return client.post(address, data, follow=True)


def test_the_admin_is_told_what_becomes_of_the_jobs_first(admin_client, engine, runs, place):
    going, failing, waiting = runs(), runs(auto_restart=False), place()
    nodes = list(Node.objects.order_by("name"))
    asked = act(admin_client, "drain", nodes)
    page = asked.content.decode()
    assert "3 jobs have Workers there, which are ended" in page
    assert "1 × restarts on other nodes, without spending a restart" in page
    assert "1 × fails: it may not be restarted" in page
    assert "1 × has not started: it is queued again" in page
    assert not Node.objects.exclude(state=NodeState.READY).exists()
    keys = ",".join(job.key for job in (going, failing, waiting))
    assert asked.context_data["keys"] == keys
    done = act(admin_client, "drain", nodes, confirmed=keys).content.decode()
    assert "3 nodes are drained now" in done
    assert "3 jobs are still leaving: their Workers are being ended." in done
    assert Attempt.objects.filter(fault__isnull=False).count() == 3


def test_a_job_that_came_meanwhile_is_asked_about_again(admin_client, engine, runs):
    first = runs()
    nodes = list(Node.objects.order_by("name"))
    runs()
    assert (
        "2 jobs have Workers there" in act(admin_client, "down", nodes, confirmed=first.key).content.decode()
    )
    assert not Node.objects.exclude(state=NodeState.READY).exists()


def test_nodes_without_jobs_are_drained_at_once(admin_client, pool):
    nodes = list(Node.objects.order_by("name"))[:1]
    done = act(admin_client, "drain", nodes).content.decode()
    assert "1 node is drained now" in done
    assert "still leaving" not in done


def test_only_admins_ask(client, user, engine, runs):
    runs()
    staff = make_user(user.memberships.get().team, is_staff=True)
    client.force_login(staff)
    assert act(client, "drain", Node.objects.all()).status_code == 403
    assert not Node.objects.exclude(state=NodeState.READY).exists()


def test_the_page_of_one_node_sends_to_the_list(admin_client, engine, runs):
    node = nodes_of(runs()).get()
    address = reverse("admin:pools_node_change", args=[node.pk])
    refused = admin_client.post(address, {"name": node.name, "state": "drained", "prepaid_until": ""})
    assert "it tells first what ends" in refused.content.decode()
    node.refresh_from_db()
    assert node.state == NodeState.READY


def test_two_passes_at_once_requeue_once(engine, runs):
    job = runs()
    take(job)
    engine.looks[attempt_key(job)] = (ended,)
    watching.attend()
    watching.attend()
    job.refresh_from_db()
    assert codes(job).count("requeued") == 1
