"""REST: what would happen to a request, and what it waits for."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.models import Job
from jobs.reading import request_read
from jobs.rules.limits import MOST_MOUNTS
from jobs.scheduling import queue_cycle
from jobs.spec import MountSpec
from tests.factories import (
    make_image,
    make_pool,
    make_user,
    occupy,
    worker_spec,
)
from tests.jobs.answers import errors, made
from tests.jobs.value_facts import spec

pytestmark = pytest.mark.django_db

JOBS = "/api/v1/jobs/"


@pytest.fixture
def client(api, team):
    return api(make_user(team))


def findings(estimate):
    return {(f["code"], f["field"], f["level"]) for f in estimate["findings"]}


BROKEN = {
    "worker_count": 0,
    "framework": "horovod",
    "priority": "urgent",
    "job_type": "inference",
    "resource_type": "spot",
    "command": " ",
    "name": "汉" * 129,
    "description": "x" * 5000,
    "tags": [""],
    "env": [{"name": "1A", "value": "x"}, {"name": "A", "value": "1"}, {"name": "A", "value": "2"}],
    "mounts": [{"volume": 1, "mount_path": "/usr/x"}],
    "stop_grace_seconds": -1,
    "keep_after_failure_minutes": 1441,
}


def test_broken_rules_are_findings_in_a_dry_run_and_the_same_errors_when_sent(client, body):
    body |= BROKEN
    answer = client.post(JOBS + "?dry_run=true", body)
    assert answer.status_code == 200
    estimate = answer.json()
    assert estimate["valid"] is False
    assert estimate["starts_now"] is False
    refused = client.post(JOBS, body)
    assert set(errors(refused)) == {(c, f) for c, f, level in findings(estimate) if level == "error"}
    assert {f for _, f, _ in findings(estimate)} >= BROKEN.keys() - {"env", "tags", "mounts"} | {
        *("env.0.name", "env.2.name", "tags.0", "mounts.0.mount_path", "mounts.0.volume")
    }
    sentences = {e["attr"]: e["detail"] for e in refused.json()["errors"]}
    assert all(sentences[f["field"]] for f in estimate["findings"] if f["level"] == "error")
    assert sentences["name"] == "Too long: at most 128 characters."


def test_a_body_without_anything_names_all_that_is_missing(client):
    missing = {("required", f) for f in ("pool", "spec", "image", "command", "name")}
    assert set(errors(client.post(JOBS, {}))) == missing
    assert {(c, f, "error") for c, f in missing} <= findings(client.post(JOBS + "?dry_run=true", {}).json())


@pytest.mark.parametrize(
    "extra",
    [
        {"worker_count": 2_000_000_000},
        {"worker_count": 2**62},
        {"worker_count": None, "spec": None, "custom_gpus": 2**62},
        {"pool": 2**62},
        {"image": 2**62},
        {"mounts": [{"volume": 2**62, "mount_path": f"/mnt/{n}"} for n in range(5000)]},
    ],
)
def test_absurd_numbers_cost_nothing(client, body, extra):
    estimate = client.post(JOBS + "?dry_run=true&ranks=all", body | extra)
    assert estimate.status_code == 200
    assert estimate.json()["valid"] is False
    errors(client.post(JOBS, body | extra))


@pytest.mark.parametrize(("more", "asked"), [(0, 2), (1, 0)])  # of those unknown, which were retired
def test_volumes_are_read_for_as_many_mounts_as_there_may_be(team, more, asked):
    mounts = tuple(MountSpec(2**40 + n, f"/mnt/{n}") for n in range(MOST_MOUNTS + more))
    with CaptureQueriesContext(connection) as queries:
        _spec, facts = request_read(make_user(team), spec(team=team.pk, mounts=mounts))
    assert facts.volumes == {}
    assert sum("storage_volumegrant" in query["sql"] for query in queries) == asked


@pytest.mark.parametrize(
    ("used", "numbers"), [([5, 5, 6], [8, 3, 0, 0]), ([0, 0, 3, 5], [24, 11, 5, 2])], ids=["3,3,2", "8,8,5,3"]
)
def test_a_dry_run_counts_node_by_node_and_stores_nothing(client, team, used, numbers):
    pool = make_pool(team, nodes=len(used))
    occupy(pool, used)
    body = {"pool": pool.pk, "image": make_image(pool.zone).pk, "command": "x", "name": "x"}
    shown = []
    for gpus in (1, 2, 4, 8):
        asked = body | {"spec": worker_spec(pool, gpus).pk}
        estimate = client.post(JOBS + "?dry_run=true", asked).json()
        assert estimate["unit"] == "workers"
        assert estimate["starts_now"] is (estimate["startable"] > 0)
        shown.append(estimate["startable"])
    assert shown == numbers
    assert not Job.objects.exists()


def test_who_cannot_start_is_queued_with_the_reason(client, team, pool, body):
    occupy(pool, [5, 5, 6])
    body["spec"] = worker_spec(pool, 8).pk
    big = made(client.post(JOBS, body))
    small = made(client.post(JOBS, body | {"spec": worker_spec(pool, 2).pk}))
    assert big["state"] == "queued"
    assert big["reason"]["code"] == "capacity"
    assert big["reason"]["data"]["largest_block"] == 3
    assert "3" in big["reason"]["message"]
    assert small["queue"] == {"position": 2, "ahead": 1, "gpus_ahead": 8}
    assert small["reason"] is None
    assert queue_cycle(pool.pk) == 1
    assert client.get(f"{JOBS}{small['id']}/").json()["state"] == "deploying"
    assert client.get(f"{JOBS}{big['id']}/").json()["reason"]["code"] == "capacity"


def test_the_place_counts_higher_priority_and_earlier_jobs(api, team, pool, body):
    client = api(make_user(team, high=True))
    occupy(pool, [8, 8, 8])
    for priority in ("low", "normal", "high", "normal"):
        job = made(client.post(JOBS, body | {"priority": priority, "worker_count": 2}))
    assert job["queue"] == {"position": 3, "ahead": 2, "gpus_ahead": 4}
    later = client.post(JOBS + "?dry_run=true", body).json()["queue"]
    assert later == {"position": 4, "ahead": 3, "gpus_ahead": 6}


def test_a_later_job_of_higher_priority_is_before(api, team, body, pool):
    client = api(make_user(team, high=True))
    occupy(pool, [8, 8, 0])
    low = made(client.post(JOBS, body | {"priority": "low", "spec": worker_spec(pool, 8).pk}))
    assert low["reason"] is None
    made(client.post(JOBS, body | {"priority": "high"}))
    assert client.get(f"{JOBS}{low['id']}/").json()["reason"]["code"] == "capacity"


def test_the_estimate_has_all_its_parts(client, team, pool, body):
    body |= {
        "spec": worker_spec(pool, 2).pk,
        "worker_count": 10,
        "framework": "pytorch_ddp",
        "env": [{"name": "A", "value": "1"}, {"name": "P", "value": "secret", "private": True}],
    }
    estimate = client.post(JOBS + "?dry_run=true", body).json()
    assert set(estimate) == {
        *(
            "valid",
            "startable",
            "unit",
            "wanted",
            "starts_now",
            "total_gpus",
            "idle_gpus",
            "workers",
            "queue",
        ),
        *("reason", "alternatives", "rdma_allowed", "environment", "findings"),
    }
    assert (estimate["wanted"], estimate["total_gpus"], estimate["idle_gpus"]) == (10, 20, 24)
    assert len(estimate["workers"]) == 8
    assert estimate["workers"][0]["gpus"] == 2
    assert estimate["workers"][0]["node"]
    assert estimate["environment"]["common"]["A"] == "1"
    assert estimate["environment"]["common"]["P"] is None
    assert estimate["environment"]["common"]["WORLD_SIZE"] == "10"
    assert estimate["environment"]["ranks"][1]["RANK"] == "1"
    everything = client.post(JOBS + "?dry_run=true&ranks=all", body).json()
    assert len(everything["workers"]) == len(everything["environment"]["ranks"]) == 10
