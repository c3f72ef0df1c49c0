"""REST: finding, watching and stopping jobs."""

import re
from datetime import UTC, datetime

import pytest

from jobs.findings import Reason
from jobs.lifecycle import move, requeue
from jobs.models import Job
from jobs.scheduling import queue_cycle
from jobs.states import State
from pools.models import Pool
from tests.factories import make_job, make_pool, make_team, make_user

pytestmark = pytest.mark.django_db

JOBS = "/api/v1/jobs/"


@pytest.fixture
def user(team):
    return make_user(team)


@pytest.fixture
def pool(team):
    return make_pool(team)


@pytest.fixture
def client(api, user):
    return api(user)


def names(response):
    assert response.status_code == 200, response.content
    return [row["name"] for row in response.json()["results"]]


def error(response):
    found = response.json()["errors"][0]
    return response.status_code, found["code"], found["attr"]


def test_a_walk_sees_each_job_once_while_more_arrive(client, user, pool):
    there = {make_job(user, pool).key for _ in range(45)}
    Job.objects.update(created_at=datetime(2026, 1, 1, tzinfo=UTC))
    url, seen = f"{JOBS}?page_size=20", []
    while url:
        page = client.get(url).json()
        seen += [row["id"] for row in page["results"]]
        url = page["next"]
        make_job(user, pool)
    assert len(seen) == len(set(seen)) == 45
    assert set(seen) == there
    for size in (0, -1, 100_000):
        assert error(client.get(f"{JOBS}?page_size={size}")) == (400, "out_of_range", "page_size")
    assert error(client.get(f"{JOBS}?page=9999")) == (400, "unknown", "page")


def test_rows_have_no_large_fields(client, user, pool):
    job = make_job(user, pool, tags=("a", "b"))
    row = client.get(JOBS).json()["results"][0]
    whole = client.get(f"{JOBS}{job.key}/").json()
    assert whole.keys() - row.keys() == {
        "command",
        "env",
        "mounts",
        "alerts",
        "findings",
        "queue",
        "attempts",
    }
    assert row["tags"] == whole["tags"] == ["a", "b"]


def test_rows_leave_the_large_fields_in_the_database(client, user, pool, django_assert_max_num_queries):
    job = make_job(user, pool, custom_gpus=12, command="#" * 200_000, priority="low", stop_grace_seconds=7)
    addresses = (
        JOBS,
        f"{JOBS}{job.key}/events/",
        f"{JOBS}{job.key}/workers/",
        f"{JOBS}{job.key}/workers/0/log/",
    )
    for address in (*addresses, f"/api/v1/pools/{pool.pk}/queue/"):
        with django_assert_max_num_queries(4) as asked:
            assert client.get(address).status_code == 200
        selected = "".join(query["sql"] for query in asked)
        assert re.findall(r' "jobs_job"\."(request|frozen|findings)"', selected) == []
    row = client.get(JOBS).json()["results"][0]
    assert row == {name: client.get(f"{JOBS}{job.key}/").json()[name] for name in row}
    assert (row["custom_gpus"], row["rdma"], row["spec"], row["stop_grace_seconds"]) == (12, False, None, 7)


@pytest.fixture
def various(team, user, pool):
    mate = make_user(team, name="mate")
    make_job(user, pool, name="alpha", tags=("llm", "v1"))
    make_job(mate, pool, name="Beta_100%", tags=("llm",))
    stopped = make_job(user, make_pool(team), name="gamma")
    move([stopped.pk], State.QUEUED, State.STOPPED, reason=Reason("stopped_by_user"))
    Job.objects.filter(name="alpha").update(created_at=datetime(2026, 1, 1, tzinfo=UTC))
    return {job.name: job for job in Job.objects.all()}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["gamma", "Beta_100%", "alpha"]),
        ("state=queued", ["Beta_100%", "alpha"]),
        ("state=stopped,queued", ["gamma", "Beta_100%", "alpha"]),
        ("state=running", []),
        ("creator=mate", ["Beta_100%"]),
        ("creator=nobody", []),
        ("tag=llm", ["Beta_100%", "alpha"]),
        ("tag=v1", ["alpha"]),
        ("search=ALPH", ["alpha"]),
        ("search=100%25", ["Beta_100%"]),
        ("search=%25%25", []),
        ("created_after=2026-02-01T00:00:00Z", ["gamma", "Beta_100%"]),
        ("created_before=2026-02-01T00:00:00Z", ["alpha"]),
        ("created_after=2026-01-01T00:00:00Z&created_before=2026-01-01T00:00:01Z", ["alpha"]),
        ("tag=llm&creator=mate&state=queued", ["Beta_100%"]),
    ],
)
def test_filters(client, various, query, expected):
    assert names(client.get(f"{JOBS}?{query}")) == expected
    assert client.get(f"{JOBS}counts/?{query}").status_code == (400 if "state" in query else 200)


def test_filters_by_pool_team_and_key(client, various):
    gamma = various["gamma"]
    assert names(client.get(f"{JOBS}?pool={gamma.pool_id}")) == ["gamma"]
    assert len(names(client.get(f"{JOBS}?team={gamma.team_id}"))) == 3
    assert names(client.get(f"{JOBS}?team={gamma.team_id + 1}")) == []
    assert names(client.get(f"{JOBS}?search={gamma.key}")) == ["gamma"]


@pytest.mark.parametrize(
    "query",
    [
        *(
            "state=queue",
            "state=",
            "pool=x",
            "pool=99999999999999999999",
            "team=-1",
            "created_after=yesterday",
        ),
        *("search=%00", "statee=queued", "tag=a&tag=b", "ordering=name"),
    ],
)
def test_bad_filters_are_named(client, query):
    status, _, attr = error(client.get(f"{JOBS}?{query}"))
    assert (status, attr) == (400, query.partition("=")[0])


def test_counts(client, various):
    counts = {
        "queued": 2,
        "deploying": 0,
        "running": 0,
        "succeeded": 0,
        "failed": 0,
        "stopped": 1,
        "total": 3,
    }
    assert client.get(f"{JOBS}counts/").json() == counts
    assert client.get(f"{JOBS}counts/?tag=llm").json()["total"] == 2


def test_strangers_find_nothing(api, various):
    stranger = api(make_user(make_team()))
    assert names(stranger.get(JOBS)) == []
    assert names(stranger.get(f"{JOBS}?tag=llm")) == []
    assert stranger.get(f"{JOBS}counts/").json()["total"] == 0
    key = various["alpha"].key
    for path in ("", "events/", "workers/", "workers/0/log/"):
        assert error(stranger.get(f"{JOBS}{key}/{path}")) == (404, "not_found", None)
    assert error(stranger.post(f"{JOBS}{key}/stop/")) == (404, "not_found", None)
    assert Job.objects.get(key=key).state == State.QUEUED


def test_read_only_addresses_take_no_other_method(client, user, pool):
    job = make_job(user, pool)
    for path in ("", "events/", "workers/", "workers/0/log/"):
        for method in ("post", "put", "patch", "delete") if path else ("post", "put", "delete"):
            answer = getattr(client, method)(f"{JOBS}{job.key}/{path}", {"command": "x"})
            assert error(answer) == (405, "method_not_allowed", None)
    assert client.delete(JOBS).status_code == client.get(f"{JOBS}{job.key}/stop/").status_code == 405


def test_stopping_a_waiting_job(client, user, pool):
    job = make_job(user, pool)
    stopped = client.post(f"{JOBS}{job.key}/stop/")
    assert stopped.status_code == 200
    assert (stopped.json()["state"], stopped.json()["finished"]) == ("stopped", True)
    assert stopped.json()["reason"]["code"] == "stopped_by_user"
    assert stopped.json()["queue"] is None
    assert client.post(f"{JOBS}{job.key}/stop/", {}).json() == stopped.json()


def test_stopping_a_placed_job_asks_for_its_end(client, user, pool):
    job = make_job(user, pool)
    queue_cycle(pool.pk)
    asked = client.post(f"{JOBS}{job.key}/stop/").json()
    assert (asked["state"], asked["finished"]) == ("deploying", False)
    assert asked["stop_requested_at"]
    again = client.post(f"{JOBS}{job.key}/stop/").json()
    assert again["stop_requested_at"] == asked["stop_requested_at"]


def test_who_may_stop(api, team, user, pool):
    job = make_job(user, pool)
    assert error(api(make_user(team)).post(f"{JOBS}{job.key}/stop/")) == (403, "permission_denied", None)
    assert Job.objects.get().state == State.QUEUED
    assert api(make_user(team, admin=True)).post(f"{JOBS}{job.key}/stop/").status_code == 200


def test_stop_takes_no_fields_and_no_parameters(client, user, pool):
    job = make_job(user, pool)
    assert error(client.post(f"{JOBS}{job.key}/stop/", {"force": True})) == (400, "unknown", "force")
    assert error(client.post(f"{JOBS}{job.key}/stop/?force=1")) == (400, "unknown", "force")
    assert error(client.post(f"{JOBS}{job.key}/stop/", [1])) == (400, "invalid", None)
    assert Job.objects.get().state == State.QUEUED


def test_of_a_call_without_fields_it_is_said_that_it_takes_none(client, user, pool):
    address = f"{JOBS}{make_job(user, pool).key}/stop/"
    (wrong,) = client.post(address, {"x": 1}).json()["errors"]
    assert wrong == {"code": "unknown", "detail": "This call takes no fields.", "attr": "x"}
    (wrong,) = client.post(f"{address}?x=1").json()["errors"]
    assert wrong["detail"] == "This call takes no query parameters."
    assert Job.objects.get().state == State.QUEUED


def test_events_tell_the_history(client, user, pool):
    job = make_job(user, pool)
    queue_cycle(pool.pk)
    client.post(f"{JOBS}{job.key}/stop/")
    move([job.pk], State.DEPLOYING, State.FAILED, reason=Reason("exit_code", {"rank": 0, "exit_code": 3}))
    events = client.get(f"{JOBS}{job.key}/events/").json()["results"]
    assert [e["code"] for e in events] == ["created", "deploying", "stop_requested", "failed"]
    assert all(set(e) == {"at", "code", "message", "actor", "data"} for e in events)
    assert [e["actor"] for e in events] == [user.username, None, user.username, None]
    assert "exit code 3" in events[-1]["message"]


def test_workers_of_an_attempt(client, user, pool):
    job = make_job(user, pool, gpus=4, workers=3)
    assert client.get(f"{JOBS}{job.key}/workers/").json()["results"] == []
    queue_cycle(pool.pk)
    workers = client.get(f"{JOBS}{job.key}/workers/").json()["results"]
    assert [(w["rank"], w["name"], w["attempt"]) for w in workers] == [
        (rank, f"{job.key}-worker-{rank}", 1) for rank in range(3)
    ]
    assert [w["gpus"] for w in workers] == [[0, 1, 2, 3], [4, 5, 6, 7], [0, 1, 2, 3]]
    assert workers[0]["node"].endswith("-node-00")
    assert client.get(f"{JOBS}{job.key}/workers/?attempt=2").json()["results"] == []
    assert error(client.get(f"{JOBS}{job.key}/workers/?attempt=x"))[0] == 400


def test_what_is_polled_is_304_until_it_changes(client, user, pool):
    job = make_job(user, pool)
    for path in (f"{job.key}/", f"{job.key}/events/", f"{job.key}/workers/", "counts/", ""):
        tag = client.get(JOBS + path)["ETag"]
        assert client.get(JOBS + path, headers={"If-None-Match": tag}).status_code == 304
        assert "private" in client.get(JOBS + path)["Cache-Control"]
    tag = client.get(f"{JOBS}{job.key}/")["ETag"]
    queue_cycle(pool.pk)
    assert client.get(f"{JOBS}{job.key}/", headers={"If-None-Match": tag}).status_code == 200


def test_first_failure_and_restarts(client, user, pool):
    job = make_job(user, pool)
    queue_cycle(pool.pk)
    failure = {"rank": 0, "exit_code": 137, "signal": 9}
    job.attempts.update(first_failure=failure)
    shown = client.get(f"{JOBS}{job.key}/").json()
    assert (shown["first_failure"], shown["attempt"], shown["restarts"]) == (failure, 1, 0)
    assert shown["platform_restarts"] == client.get(JOBS).json()["results"][0]["platform_restarts"] == 0


def test_restarts_by_the_platform_are_counted_apart(client, user, pool):
    job = make_job(user, pool)
    queue_cycle(pool.pk)
    assert requeue(job.pk, State.DEPLOYING, reason=Reason("drained"), most=5)
    for shown in (client.get(f"{JOBS}{job.key}/").json(), client.get(JOBS).json()["results"][0]):
        assert (shown["restarts"], shown["platform_restarts"]) == (0, 1)


def test_a_job_outlives_what_it_names(client, user, pool):
    job = make_job(user, pool)
    Pool.objects.update(name="renamed", retired_at=datetime(2026, 1, 1, tzinfo=UTC))
    shown = client.get(f"{JOBS}{job.key}/").json()
    assert shown["pool"]["name"] == pool.name
    assert names(client.get(JOBS)) == ["a job"]


def test_the_number_of_queries_does_not_grow(client, team, user, pool, django_assert_max_num_queries):
    for _ in range(12):
        make_job(user, pool, tags=("a", "b"))
    queue_cycle(pool.pk)
    last = make_job(user, pool, gpus=8, workers=4)
    with django_assert_max_num_queries(3):
        assert len(names(client.get(JOBS))) == 13
    with django_assert_max_num_queries(1):
        client.get(f"{JOBS}counts/")
    with django_assert_max_num_queries(11):
        assert client.get(f"{JOBS}{last.key}/").json()["queue"]["position"] == 1
    with django_assert_max_num_queries(2):
        client.get(f"{JOBS}{last.key}/events/")
