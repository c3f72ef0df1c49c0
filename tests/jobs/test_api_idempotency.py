"""REST: creating calls that are repeated."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from jobs.idempotency import CLAIM, KEPT, Call, UnderWay, claim, settle
from jobs.models import IdempotencyKey, Job
from teams.models import Membership
from tests.factories import make_image, make_pool, make_team, make_user, worker_spec

JOBS = "/api/v1/jobs/"


@pytest.fixture
def user(team):
    return make_user(team)


@pytest.fixture
def body(body):
    return body | {"env": [{"name": "KEY", "value": "s3cret", "private": True}]}


def post(user, body, key="k-1", path=JOBS):
    client = APIClient()
    client.force_authenticate(user)
    return client.post(path, body, headers={"Idempotency-Key": key})


def test_a_repetition_gets_the_first_answer(user, body):
    first = post(user, body)
    assert (first.status_code, "Idempotent-Replayed" in first) == (201, False)
    Job.objects.update(state="running")
    again = post(user, dict(reversed(body.items())))
    assert (again.status_code, again["Idempotent-Replayed"]) == (201, "true")
    assert again.json() == first.json()
    assert again.json()["env"][0]["value"] == "s3cret"
    assert Job.objects.count() == 1


def test_private_values_are_not_kept_in_clear(user, body):
    post(user, body)
    row = IdempotencyKey.objects.get()
    assert "s3cret" not in json.dumps(row.answer)
    assert hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest() != row.body_hash


def test_another_body_is_422(user, body):
    post(user, body)
    other = post(user, body | {"name": "another"})
    assert (other.status_code, other.json()["errors"][0]["code"]) == (422, "idempotency_key_used")
    assert Job.objects.count() == 1


def test_keys_belong_to_a_person(user, team, body):
    jobs = {post(who, body).json()["id"] for who in (user, make_user(team))}
    jobs.add(post(user, body, key="k-2").json()["id"])
    assert len(jobs) == 3


def test_a_refused_call_leaves_the_key_free(user, body):
    assert post(user, body | {"command": ""}).status_code == 400
    assert post(user, body | {"worker_cout": 1}).status_code == 400
    assert not IdempotencyKey.objects.exists()
    assert post(user, body).status_code == 201


def test_a_dry_run_uses_up_no_key(user, body):
    assert post(user, body, path=JOBS + "?dry_run=true").status_code == 200
    assert not IdempotencyKey.objects.exists()


def test_a_call_under_way_is_409_until_it_must_have_died(user, body):
    row = claim(Call(user, JOBS, "k-1", body))
    busy = post(user, body)
    assert (busy.status_code, busy["Retry-After"]) == (409, "1")
    IdempotencyKey.objects.update(created_at=timezone.now() - CLAIM)
    assert post(user, body).status_code == 201
    with pytest.raises(UnderWay):
        settle(row, 201, {})
    assert Job.objects.count() == 1
    assert post(user, body)["Idempotent-Replayed"] == "true"


def test_after_a_day_a_key_is_new(user, body):
    first = post(user, body).json()["id"]
    IdempotencyKey.objects.update(created_at=timezone.now() - KEPT)
    assert post(user, body | {"name": "another"}).json()["id"] != first
    assert IdempotencyKey.objects.count() == 1


def test_who_has_left_the_team_gets_no_old_answer(user, body):
    post(user, body)
    Membership.objects.filter(user=user).delete()
    assert post(user, body).status_code == 404


@pytest.mark.parametrize("key", ["", "x" * 201, "a\tb"])
def test_a_key_is_short_printable_text(user, body, key):
    answer = post(user, body, key=key)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["attr"] == "Idempotency-Key"


@pytest.mark.django_db(transaction=True)
def test_calls_at_the_same_time_make_one_job():
    team = make_team()
    user, pool = make_user(team), make_pool(team)
    body = {
        "pool": pool.pk,
        "spec": worker_spec(pool, 1).pk,
        "image": make_image(pool.zone).pk,
        "command": "echo hello",
        "name": "a job",
    }
    barrier = Barrier(4)

    def call(_):
        barrier.wait()
        try:
            return post(user, body)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(call, range(4)))
    assert Job.objects.count() == 1
    assert {a.status_code for a in answers} <= {201, 409}
    assert sum(a.status_code == 201 and "Idempotent-Replayed" not in a for a in answers) == 1
    assert IdempotencyKey.objects.get().created_at > timezone.now() - timedelta(minutes=1)
    assert post(user, body).json()["id"] == Job.objects.get().key
