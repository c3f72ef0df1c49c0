"""The body that would create a job once more."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from jobs.clone import clone_body
from jobs.models import Job
from jobs.serializers import JobRequestSerializer
from jobs.spec import EnvVar, JobSpec
from tests.factories import (
    make_channel,
    make_image,
    make_pool,
    make_team,
    make_user,
    make_volume,
    make_zone,
    worker_spec,
)
from tests.jobs.answers import made
from tests.jobs.pages import CREATE, Page

pytestmark = pytest.mark.django_db
JOBS = "/api/v1/jobs/"


@pytest.fixture
def pool(team):
    return make_pool(team, zone=make_zone(public_data="/srv/public"), network="roce")


@pytest.fixture
def user(team):
    return make_user(team, high=True)


@pytest.fixture
def client(api, user):
    return api(user)


@pytest.fixture
def least(pool):
    """The least that makes a job."""
    return {
        "pool": pool.pk,
        "spec": worker_spec(pool, 8).pk,
        "image": make_image(pool.zone).pk,
        "command": "echo hello",
        "name": "a job",
    }


@pytest.fixture
def everything(least, team, pool, user):
    """Every field that there is, with another value than its default."""
    volumes = [make_volume(pool.zone, team), make_volume(pool.zone, team)]
    return least | {
        "job_type": "training",
        "resource_type": "prepaid",
        "team": team.pk,
        "worker_count": 2,
        "custom_gpus": None,
        "flavor": None,
        "rdma": True,
        "framework": "pytorch_ddp",
        "env_check": True,
        "auto_restart": True,
        "max_restarts": 3,
        "hang_detection": True,
        "hang_timeout_seconds": 600,
        "hang_action": "restart",
        "command": 'echo "a;b"\n\techo "$HOME" 汉\n',
        "env": [
            {"name": "A", "value": " two\nlines; \\n '\"； ", "private": False},
            {"name": "E", "value": "", "private": False},
            {"name": "T", "value": "YWJj==", "private": False},
        ],
        "public_data": True,
        "mounts": [
            {"volume": volumes[0].pk, "mount_path": "/mnt//data/"},
            {"volume": volumes[1].pk, "mount_path": "/mnt/out"},
        ],
        "alerts": [
            {"events": ["failed", "queued_too_long"], "channel": make_channel(user).pk, "minutes": 30},
            {"events": ["succeeded"], "channel": make_channel(user, team).pk, "minutes": None},
        ],
        "description": "说明\n</script>",
        "tags": ["x/y", "sft", "x/y"],
        "priority": "high",
        "max_runtime_minutes": 60,
        "max_queue_minutes": 30,
        "stop_grace_seconds": 0,
        "keep_after_failure_minutes": 60,
    }


def clone(client: Any, key: str) -> dict[str, Any]:
    answer = client.get(f"{JOBS}{key}/clone/")
    assert answer.status_code == 200, answer.content
    body: dict[str, Any] = answer.json()
    return body


def test_a_body_with_every_field_comes_back_as_it_was_sent(client, everything):
    body = clone(client, made(client.post(JOBS, everything))["id"])
    known = set(JobRequestSerializer().fields)
    assert set(body) == known
    assert {name: body[name] for name in everything} == everything
    left_out = known - set(everything)
    assert all(body[name] == JobRequestSerializer().fields[name].get_default() for name in left_out)


def test_of_the_least_body_the_rest_is_the_documented_defaults(client, team, least):
    body = clone(client, made(client.post(JOBS, least))["id"])
    known = JobRequestSerializer().fields
    defaults = {name: field.get_default() for name, field in known.items() if not field.required}
    assert body == defaults | {"team": team.pk, "worker_count": 1, "alerts": []} | least


def test_a_custom_count_has_neither_spec_nor_worker_count(client, least, everything):
    del least["spec"]
    body = clone(client, made(client.post(JOBS, least | {"custom_gpus": 12}))["id"])
    assert (body["custom_gpus"], body["spec"], body["worker_count"]) == (12, None, None)


@pytest.mark.parametrize("which", ["least", "everything"])
def test_the_copy_of_the_copy_is_the_same(client, which, request):
    private = {"name": "KEY", "value": "sekret-4711", "private": True}
    sent = request.getfixturevalue(which)
    first = made(client.post(JOBS, sent | {"env": [*sent.get("env", []), private]}))
    body = clone(client, first["id"])
    assert body["env"][-1] == {"name": "KEY", "private": True, "from_job": first["id"]}
    second = made(client.post(JOBS, body))
    again = clone(client, second["id"])
    assert again["env"].pop() == {"name": "KEY", "private": True, "from_job": second["id"]}
    body["env"].pop()
    assert again == body
    of_a_job = {"id", "created_at", "queue"}
    told = [{n: v for n, v in job.items() if n not in of_a_job} for job in (first, second)]
    assert told[0] == told[1]


def test_team_mates_may_and_strangers_find_nothing(api, client, team, least):
    key = made(client.post(JOBS, least))["id"]
    assert api(make_user(team)).get(f"{JOBS}{key}/clone/").status_code == 200
    assert api(make_user(make_team())).get(f"{JOBS}{key}/clone/").status_code == 404
    assert client.get(f"{JOBS}{key}/clone/?full=1").status_code == 400
    assert client.post(f"{JOBS}{key}/clone/").status_code == 405


def test_a_job_of_before_has_the_defaults_of_what_came_later(client, least):
    key = made(client.post(JOBS, least))["id"]
    job = Job.objects.get()
    for name in ("start_policy", "hang_detection"):
        del job.request[name]
    job.save()
    body = clone(client, key)
    assert (body["start_policy"], body["hang_detection"]) == ("queue", False)


def test_nothing_of_a_private_value_is_in_the_body():
    spec = JobSpec(team=1, pool=1, image=1, command="x", name="n", env=(EnvVar("K", "sekret", private=True),))
    assert "sekret" not in str(clone_body(spec, "jo-a"))


@pytest.mark.parametrize("custom", [False, True])
def test_by_the_form_nothing_is_dropped_or_reset(client, everything, custom):
    private = {"name": "KEY", "value": "sekret-4711", "private": True}
    sent = everything | {"env": [*everything["env"], private], "tags": ["x/y", "sft", "中 文"]}
    if custom:
        sent |= {"spec": None, "worker_count": None, "custom_gpus": 16}
    made(client.post(JOBS, sent))
    first = Job.objects.get()
    browser = Client()
    browser.force_login(first.creator)
    fields = Page(browser.get(f"{CREATE}?from={first.key}")).fields()
    assert browser.post(CREATE, fields).status_code == 303
    second = Job.objects.latest("pk")
    assert second.request == first.request
    assert (second.origin, second.origin_kind) == (first, "clone")
    told = list(client.get(f"{JOBS}{second.key}/").json()["origin"]["differences"])
    assert [d["field"] for d in told] == ["env.KEY"]
