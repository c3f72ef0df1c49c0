"""REST: logs of Workers, as the engine keeps them."""

import os
from unittest import mock

import pytest
from django.conf import settings

from engines.base import EngineError
from jobs.models import Job
from jobs.scheduling import queue_cycle
from tests.factories import make_job, make_pool, make_team, make_user

pytestmark = pytest.mark.django_db

JOBS = "/api/v1/jobs/"


@pytest.fixture
def team():
    return make_team()


@pytest.fixture
def client(api, team):
    return api(make_user(team))


@pytest.fixture
def job(team):
    pool = make_pool(team)
    job = make_job(make_user(team), pool, workers=2)
    queue_cycle(pool.pk)
    return job


def write(job, data, rank=0, attempt=1):
    """Puts bytes where the engine keeps the log of a Worker."""
    folder = settings.RUNS_DIR / job.key / str(attempt) / str(rank)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log").write_bytes(data)
    return folder


def log(client, job, query="", rank=0):
    return client.get(f"{JOBS}{job.key}/workers/{rank}/log/{query}")


def headers(response):
    return tuple(response[f"X-Log-{name}"] for name in ("Offset", "Size", "Complete"))


def test_bytes_come_as_they_are(client, job):
    data = b"\xff\x00 <script>\r\n \x1b[31m\xe6\xb1\x89\n"
    write(job, data)
    answer = log(client, job)
    assert (answer.status_code, answer.content) == (200, data)
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert headers(answer) == ("0", str(len(data)), "false")


@pytest.mark.parametrize(
    ("query", "content", "offset"),
    [
        ("?offset=4", b"456789", "4"),
        ("?offset=4&limit=2", b"45", "4"),
        ("?tail=3", b"789", "7"),
        ("?tail=3&limit=2", b"78", "7"),
        ("?tail=100", b"0123456789", "0"),
        ("?offset=10", b"", "10"),
        ("?attempt=1&limit=1", b"0", "0"),
    ],
)
def test_a_part_of_it(client, job, query, content, offset):
    write(job, b"0123456789")
    answer = log(client, job, query)
    assert (answer.content, headers(answer)[:2]) == (content, (offset, "10"))


def test_the_size_is_bounded(client, job):
    write(job, b"x" * (9 * 2**20))
    assert len(log(client, job).content) == 2**20
    assert len(log(client, job, f"?limit={8 * 2**20}").content) == 8 * 2**20
    assert len(log(client, job, f"?tail={3 * 2**20}").content) == 3 * 2**20


@pytest.mark.parametrize(
    "query",
    [
        *("?offset=-1", "?limit=0", "?limit=8388609", "?tail=0", "?tail=x", "?offset=1&tail=1", "?attempt=0"),
        *("?file=../../../etc/passwd", "?attempt=../1", "?offset=9223372036854775808"),
    ],
)
def test_bad_parameters_are_400(client, job, query):
    assert log(client, job, query).status_code == 400


def test_only_ids_lead_to_a_log(client, job):
    write(job, b"x", rank=7)
    write(job, b"x", attempt=2)
    assert log(client, job, rank=7).status_code == 404
    assert log(client, job, "?attempt=2").status_code == 404
    for rank in ("..%2f..", "-1", "0%00", "....//", "%2fetc%2fpasswd"):
        assert log(client, job, rank=rank).status_code == 404


def test_a_link_in_place_of_a_log_is_not_followed(client, job):
    folder = write(job, b"")
    (folder / "log").unlink()
    os.symlink("/etc/passwd", folder / "log")
    answer = log(client, job)
    assert (answer.status_code, answer.content) == (200, b"")


def test_before_it_was_placed_a_job_has_an_empty_log(client, team):
    job = make_job(make_user(team, admin=True), make_pool(team))
    answer = log(client, job)
    assert (answer.content, headers(answer)) == (b"", ("0", "0", "false"))
    assert log(client, job, rank=1).status_code == 404
    Job.objects.update(state="stopped")
    assert headers(log(client, job))[2] == "true"


def test_the_log_of_a_worker_that_never_started_is_complete_once_its_attempt_is_over(client, job):
    assert headers(log(client, job)) == ("0", "0", "false")
    Job.objects.update(attempt=2)
    assert headers(log(client, job, "?attempt=1"))[2] == "true"
    Job.objects.update(attempt=1, state="failed")
    assert headers(log(client, job, rank=1)) == ("0", "0", "true")


def test_a_log_that_cannot_be_read_now_is_503(client, job):
    client.raise_request_exception = False
    with mock.patch("runs.logs.engine_of", side_effect=EngineError):
        answer = log(client, job)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (503, "log_unreadable")


def test_strangers_get_404_in_json(api, job):
    write(job, b"secret")
    answer = log(api(make_user(make_team())), job)
    assert answer.status_code == 404
    assert answer.json()["errors"][0]["code"] == "not_found"


def test_a_client_may_ask_for_plain_text(client, job):
    write(job, b"x")
    url = f"{JOBS}{job.key}/workers/0/log/"
    assert client.get(url, headers={"Accept": "text/plain"}).content == b"x"
    assert client.get(url + "?limit=0", headers={"Accept": "text/plain"}).json()["type"] == "validation_error"


def test_the_number_of_queries_is_small(client, job, django_assert_max_num_queries):
    write(job, b"x")
    with django_assert_max_num_queries(2):
        log(client, job)
