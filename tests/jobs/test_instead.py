"""What would start now in place of a waiting job, on its page and in the form to which that leads."""

import json
from unittest import mock

import pytest

from jobs.instead import instead_of
from jobs.lifecycle import move, prioritize
from jobs.models import Job
from jobs.scheduling import queue_cycle
from jobs.states import Priority, State
from pools.models import Grant, Pool
from tests.factories import make_job, make_pool, make_team, make_user, occupy, worker_spec
from tests.jobs.pages import CREATE, Page

pytestmark = pytest.mark.django_db


@pytest.fixture
def user(team):
    return make_user(team)


@pytest.fixture
def pool(team):
    pool = make_pool(team, nodes=2)
    occupy(pool, [4, 4])
    return pool


def shapes(found):
    return [(one.shape.worker_gpus, one.shape.workers) for one in found]


def links(client, job):
    """As the page asks for them."""
    asked = [e.attrs["hx-get"] for e in Page(client.get(f"/jobs/{job.key}/")).all("div", id_="instead")]
    shown = [Page(client.get(address)) for address in asked]
    return [a.attrs["href"] for page in shown for a in page.all("a") if "instead-" in a.attrs.get("id", "")]


def test_nearby_shapes_that_start(user, pool):
    job = make_job(user, pool, gpus=8)
    queue_cycle(pool.pk)
    assert shapes(instead_of(job=job, user=user)) == [(4, 2), (4, 1)]


def test_others_ahead_take_their_room_first(user, pool):
    make_job(user, pool, gpus=4)
    job = make_job(user, pool, gpus=4, workers=2)
    assert shapes(instead_of(job=job, user=user)) == [(4, 1)]
    other = make_job(user, pool, gpus=4, workers=2)  # of the same class, and behind it
    assert shapes(instead_of(job=other, user=user)) == [(4, 1)]


def test_the_job_itself_is_in_nobodys_way(user, team):
    """As the head of a strict queue it lets nobody past; what takes its place stands where it stood."""
    pool = make_pool(team, nodes=2, discipline="strict_fifo")
    occupy(pool, [4, 4])
    job = make_job(user, pool, gpus=8)
    queue_cycle(pool.pk)
    assert shapes(instead_of(job=job, user=user)) == [(4, 2), (4, 1)]
    behind = make_job(user, pool, gpus=8)
    assert instead_of(job=behind, user=user) == ()
    assert shapes(instead_of(job=job, user=user)) == []  # the other is then the head, and goes first


def test_its_priority_of_today_counts(user, pool):
    blocker = make_job(user, pool, gpus=4, workers=2, priority="low")
    job = make_job(user, pool, gpus=8)
    prioritize(job.pk, Priority.LOW, actor=user)
    job.refresh_from_db()
    assert instead_of(job=job, user=user) == ()
    prioritize(blocker.pk, Priority.LOW, actor=user)
    prioritize(job.pk, Priority.NORMAL, actor=user)
    job.refresh_from_db()
    assert shapes(instead_of(job=job, user=user)) == [(4, 2), (4, 1)]


def test_nothing_where_the_pool_is_not_theirs_any_more(user, pool):
    job = make_job(user, pool, gpus=8)
    Grant.objects.all().delete()
    assert instead_of(job=job, user=user) == ()
    Pool.objects.update(retired_at=job.created_at)
    assert instead_of(job=job, user=user) == ()


def test_the_page_leads_to_the_form_with_these_values(client, user, pool):
    client.force_login(user)
    job = make_job(user, pool, gpus=8, command="echo kept", tags=("x",))
    queue_cycle(pool.pk)
    address, smaller = links(client, job)
    less = Page(client.get(smaller)).fields()
    assert (less["spec"], less["worker_count"]) == ([str(worker_spec(pool, 4).pk)], ["1"])
    form = Page(client.get(address)).fields()
    assert (form["spec"], form["worker_count"]) == ([str(worker_spec(pool, 4).pk)], ["2"])
    assert (form["command"], form["tags"], form["replaces"]) == (["echo kept"], ["x"], ["1"])
    made = client.post(CREATE, form)
    assert made.status_code == 303, made.content.decode()
    new = Job.objects.latest("pk")
    assert (new.worker_gpus, new.total_gpus, new.origin_id) == (4, 8, job.pk)
    job.refresh_from_db()
    assert job.state == "stopped"


def test_it_is_no_part_of_what_is_asked_every_moment(client, user, pool):
    client.force_login(user)
    job = make_job(user, pool, gpus=8)
    with mock.patch("jobs.views.instead.instead_of", side_effect=AssertionError):
        page = Page(client.get(f"/jobs/{job.key}/"))
        live = page.by_id("poll").attrs["hx-get"]
        assert client.get(live).status_code == 204
        move([job.pk], State.QUEUED, State.STOPPED)
        assert client.get(f"/jobs/{job.key}/instead/").content.strip() == b""
    changed = Page(client.get(live))
    assert [
        e.text.strip() for e in changed.elements if e.attrs.get("hx-swap-oob", "").endswith("-instead")
    ] == [""]


def test_a_part_is_nothing_for_strangers(client, team, user, pool):
    job = make_job(user, pool, gpus=8)
    assert client.get(f"/jobs/{job.key}/instead/").status_code == 401
    client.force_login(make_user(team))
    assert client.get(f"/jobs/{job.key}/instead/").content.strip() == b""
    client.force_login(make_user(make_team()))
    assert client.get(f"/jobs/{job.key}/instead/").status_code == 404


def test_another_pool_comes_with_what_it_offers(client, user, team, pool):
    other = make_pool(team, nodes=1, zone=pool.zone)
    client.force_login(user)
    job = make_job(user, pool, gpus=8)
    occupy(pool, [4, 4])
    queue_cycle(pool.pk)
    (address,) = links(client, job)
    form = Page(client.get(address)).fields()
    assert (form["pool"], form["spec"]) == ([str(other.pk)], [str(worker_spec(other, 8).pk)])


@pytest.mark.parametrize(
    "adopt", ["", "x", "[1]", json.dumps({"pool": "9" * 99}), json.dumps({"spec": "-1"})]
)
def test_odd_values_in_the_address_are_borne(client, user, pool, adopt):
    client.force_login(user)
    job = make_job(user, pool, gpus=8)
    assert client.get(CREATE, {"from": job.key, "replace": "1", "adopt": adopt}).status_code == 200


def test_who_may_not_stop_it_and_what_starts_is_not_asked(client, user, team, pool):
    job = make_job(user, pool, gpus=8)
    client.force_login(make_user(team))
    assert links(client, job) == []
    client.force_login(user)
    assert links(client, make_job(user, pool, gpus=1)) == []
