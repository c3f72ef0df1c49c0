"""A request that is not to wait: it starts at once, or is not created, and says so before."""

import pytest

from jobs.models import IdempotencyKey, Job
from jobs.scheduling import queue_cycle
from tests.factories import make_image, occupy
from tests.jobs.answers import errors, made
from tests.jobs.pages import CREATE, Page
from tests.jobs.sent import filled

pytestmark = pytest.mark.django_db
JOBS = "/api/v1/jobs/"
NOW = {"start_policy": "now"}


@pytest.fixture
def page(client, alice, pool):
    """The form as alice gets it, with the one image chosen."""
    make_image(pool.zone)
    client.force_login(alice)
    return Page(client.get(CREATE))


@pytest.fixture
def full(pool):
    occupy(pool, [8, 8, 8])


def test_what_starts_at_once_is_created(api, alice, pool, body):
    job = made(api(alice).post(JOBS, body | NOW))
    assert job["start_policy"] == "now"
    queue_cycle(pool.pk)
    assert Job.objects.get().state == "deploying"


@pytest.mark.usefixtures("full")
def test_what_would_wait_is_409_with_the_reason(api, alice, body):
    answer = api(alice).post(JOBS, body | NOW)
    assert answer.status_code == 409
    assert answer.json()["type"] == "client_error"
    assert [(e["code"], e["attr"]) for e in answer.json()["errors"]] == [
        ("cannot_start_now", None),
        ("capacity", None),
    ]
    assert "queue at place 1" in answer.json()["errors"][0]["detail"]
    assert not Job.objects.exists()


@pytest.mark.usefixtures("full")
def test_a_key_can_be_used_again_once_there_is_room(api, alice, pool, body):
    key = {"headers": {"Idempotency-Key": "k"}}
    assert api(alice).post(JOBS, body | NOW, **key).status_code == 409
    assert not IdempotencyKey.objects.exists()
    assert api(alice).post(JOBS, body, **key).status_code == 201


@pytest.mark.usefixtures("full")
def test_broken_rules_come_first(api, alice, body):
    answer = api(alice).post(JOBS, body | NOW | {"name": ""})
    assert (answer.status_code, errors(answer)) == (400, [("required", "name")])


@pytest.mark.usefixtures("full")
def test_a_dry_run_tells_what_it_always_tells(api, alice, body):
    told = api(alice).post(f"{JOBS}?dry_run=true", body | NOW).json()
    assert (told["valid"], told["starts_now"], told["reason"]["code"]) == (True, False, "capacity")


@pytest.mark.usefixtures("full")
def test_the_form_comes_back_however_often_it_is_sent(client, page, pool):
    sent = filled(page, pool, start_policy="now", description="kept")
    for _ in range(2):
        answer = client.post(CREATE, sent)
        assert answer.status_code == 409
        again = Page(answer)
        assert "not to be created if it cannot start at once" in again.by_id("changed").text
        assert "no GPU is left now" in again.by_id("changed").text
        sent = again.fields()
        assert (sent["description"], sent["start_policy"]) == (["kept"], ["now"])
    assert not Job.objects.exists()


def test_the_form_creates_what_starts_at_once(client, page, pool):
    assert client.post(CREATE, filled(page, pool, start_policy="now")).status_code == 303


@pytest.mark.usefixtures("full")
def test_the_summary_says_before_what_would_happen(client, page, pool):
    live = Page(client.post("/jobs/estimate/", filled(page, pool, start_policy="now")))
    assert "Would not be created: it would queue, place 1" in live.by_id("summary").text
    assert "Would not be created" in live.by_id("promise").text
    live = Page(client.post("/jobs/estimate/", filled(page, pool, start_policy="queue")))
    assert "Will queue, place 1" in live.by_id("summary").text
