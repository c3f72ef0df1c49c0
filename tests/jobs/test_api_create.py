"""REST: making jobs, and what is refused."""

import pytest

from jobs.models import Job, PrivateValue
from tests.factories import (
    make_flavor,
    make_image,
    make_pool,
    make_team,
    make_user,
    make_volume,
    make_zone,
    worker_spec,
)
from tests.jobs.answers import errors, made

pytestmark = pytest.mark.django_db

JOBS = "/api/v1/jobs/"
AWKWARD = "$(touch /tmp/pwned) `id` $HOME 'x' \"y\" \\n\nsecond line ; 汉"


@pytest.fixture
def client(api, team):
    return api(make_user(team))


def test_the_least_body_makes_a_job_with_defaults(client, team, pool, body):
    job = made(client.post(JOBS, body))
    assert job["id"].startswith("jo-")
    assert job == job | {
        "name": "a job",
        "state": "queued",
        "finished": False,
        "job_type": "training",
        "resource_type": "prepaid",
        "team": {"id": team.pk, "name": team.name},
        "pool": {"id": pool.pk, "name": pool.name},
        "spec": {"id": body["spec"], "name": "1 GPU", "gpus": 1},
        "worker_count": 1,
        "custom_gpus": None,
        "total_gpus": 1,
        "rdma": False,
        "framework": "single",
        "command": "echo hello",
        "env": [],
        "mounts": [],
        "tags": [],
        "priority": "normal",
        "stop_grace_seconds": 30,
        "keep_after_failure_minutes": 0,
        "kept_until": None,
        "public_data": False,
        "reason": None,
        "queue": {"position": 1, "ahead": 0, "gpus_ahead": 0},
        "first_failure": None,
        "restarts": 0,
    }
    assert [f["code"] for f in job["findings"]] == ["no_mounts"]
    assert client.get(f"{JOBS}{job['id']}/").json() == job


def test_everything_comes_back_as_it_was_sent(client, team, pool, body):
    volume = make_volume(pool.zone, team, read_only=True)
    name = '训练-🚀 "q" <img src=x onerror=alert(1)> ../../x (1)'
    body |= {
        "name": name,
        "description": "</script><b>",
        "tags": ["</script><b>", "x/y"],
        "command": 'python3 -c \'print("a;b", "$HOME", r"\\n")\'\r\n\techo "q$((1+1))"\r\n',
        "env": [
            {"name": "V", "value": AWKWARD},
            {"name": "E", "value": ""},
            {"name": "T", "value": "YWJj=="},
        ],
        "mounts": [{"volume": volume.pk, "mount_path": "/mnt//data/"}],
        "framework": "pytorch_ddp",
        "worker_count": 2,
        "priority": "low",
        "stop_grace_seconds": 5,
        "keep_after_failure_minutes": 45,
    }
    job = made(client.post(JOBS, body))
    assert job["command"] == body["command"].replace("\r\n", "\n")
    assert job["env"] == [v | {"private": False} for v in body["env"]]
    assert job["mounts"] == [{"volume": volume.pk, "mount_path": "/mnt/data", "read_only": True}]
    assert job["total_gpus"] == 2
    for field in (
        "name",
        "description",
        "tags",
        "framework",
        "worker_count",
        "priority",
        "stop_grace_seconds",
        "keep_after_failure_minutes",
    ):
        assert job[field] == body[field]


@pytest.mark.parametrize(
    ("extra", "code"),
    [
        ({"worker_cout": 4}, "unknown"),
        ({"status": "succeeded"}, "unknown"),
        ({"owner": 1}, "unknown"),
        ({"created_at": "2020-01-01T00:00:00Z"}, "read_only"),
        ({"id": "jo-x"}, "read_only"),
        ({"state": "running"}, "read_only"),
        ({"tensorboard_dir": "/mnt/x"}, "unknown"),
    ],
)
def test_unknown_and_server_owned_fields_are_named(client, body, extra, code):
    for query in ("", "?dry_run=true"):
        assert errors(client.post(JOBS + query, body | extra)) == [(code, next(iter(extra)))]


def test_a_near_miss_is_told(client, body):
    answer = client.post(JOBS, body | {"worker_cout": 4})
    assert "worker_count" in answer.json()["errors"][0]["detail"]


def test_unknown_fields_within_are_named(client, body):
    body |= {
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2", "secret": True}],
        "mounts": [{"volume": 1, "mount_path": "/mnt/x", "read_only": True}],
    }
    assert set(errors(client.post(JOBS, body))) == {
        ("unknown", "env.1.secret"),
        ("read_only", "mounts.0.read_only"),
    }


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({"worker_count": "4"}, ("invalid", "worker_count")),
        ({"worker_count": True}, ("invalid", "worker_count")),
        ({"worker_count": 4.0}, ("invalid", "worker_count")),
        ({"worker_count": 10**30}, ("out_of_range", "worker_count")),
        ({"pool": [1]}, ("invalid", "pool")),
        ({"rdma": "true"}, ("invalid", "rdma")),
        ({"rdma": 1}, ("invalid", "rdma")),
        ({"rdma": None}, ("null", "rdma")),
        ({"command": 5}, ("invalid", "command")),
        ({"command": None}, ("null", "command")),
        ({"name": {"a": 1}}, ("invalid", "name")),
        ({"env": {"A": "1"}}, ("not_a_list", "env")),
        ({"env": "A=1"}, ("not_a_list", "env")),
        ({"env": ["A=1"]}, ("invalid", "env.0")),
        ({"env": [{"name": "A"}]}, ("required", "env.0.value")),
        ({"env": [{"name": "A", "value": 1}]}, ("invalid", "env.0.value")),
        ({"env": [{"name": "A", "value": None, "private": True}]}, ("null", "env.0.value")),
        ({"tags": "x"}, ("not_a_list", "tags")),
        ({"tags": [1]}, ("invalid", "tags.0")),
        ({"mounts": [{"volume": "1", "mount_path": "/mnt/x"}]}, ("invalid", "mounts.0.volume")),
        ({"priority": 1}, ("invalid", "priority")),
    ],
)
def test_wrong_types_are_malformed_also_in_a_dry_run(client, body, extra, expected):
    for query in ("", "?dry_run=true"):
        assert errors(client.post(JOBS + query, body | extra)) == [expected]


def test_half_a_surrogate_pair_is_refused_wherever_it_is(client, body):
    for text, expected in [
        (r'{"command": "\ud800"}', ("surrogate_characters_not_allowed", "command")),
        (r'{"\ud800": 1}', ("unknown", "?")),
    ]:
        answer = client.post(JOBS, text, content_type="application/json")
        assert expected in errors(answer)


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '"x"', "{} {}", "[" * 100_000])
def test_what_is_no_json_object_is_400(client, content):
    answer = client.post(JOBS, content, content_type="application/json")
    assert answer.status_code == 400
    assert not Job.objects.exists()
    assert client.post(JOBS, "a=1", content_type="application/x-www-form-urlencoded").status_code == 415


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ([{"name": "A", "value": "x" * 140_000}], [("too_long", "env.0.value")]),
        ([{"name": f"A{n}", "value": ""} for n in range(5000)], [("too_many", "env")]),
        ([{"name": "A", "value": "a\0b"}], [("nul_character", "env.0.value")]),
        ([{"name": "TRAINYARD_JOB_ID", "value": "x"}], [("env_injected", "env.0.name")]),
        ([{"name": "", "value": "v"}], [("env_name", "env.0.name")]),
        ([{"name": "B-C", "value": "y"}], [("env_name", "env.0.name")]),
        ([{"name": "A" * 256, "value": "y", "private": True}], [("too_long", "env.0.name")]),
    ],
    ids=["value", "many", "nul", "injected", "empty", "dash", "name"],
)
def test_limits_of_variables_name_the_variable(client, body, env, expected):
    assert errors(client.post(JOBS, body | {"env": env})) == expected


def test_a_private_name_may_be_as_long_as_its_column(client, body):
    variable = {"name": "A" * 255, "value": "y", "private": True}
    assert made(client.post(JOBS, body | {"env": [variable]}))["env"] == [variable]


def test_a_long_command_is_taken_and_a_longer_one_refused(client, body):
    long = "# " + "x" * 200_000 + "\necho done"
    assert errors(client.post(JOBS, body | {"command": "#" * 300_000})) == [("too_long", "command")]
    assert made(client.post(JOBS, body | {"command": long}))["command"] == long


def test_a_custom_count(client, team, body):
    pool = make_pool(team, nodes=2)
    second = make_flavor(pool, nodes=1)
    body = {
        "pool": pool.pk,
        "image": make_image(pool.zone).pk,
        "command": "x",
        "name": "x",
        "custom_gpus": 12,
    }
    assert errors(client.post(JOBS, body)) == [("required", "flavor")]
    assert set(errors(client.post(JOBS, body | {"spec": 1, "worker_count": 1, "flavor": second.pk}))) == {
        ("excluded_by_custom_gpus", "spec"),
        ("excluded_by_custom_gpus", "worker_count"),
        ("never_fits", "custom_gpus"),
    }
    job = made(client.post(JOBS, body | {"flavor": pool.flavors.first().pk}))
    assert (job["custom_gpus"], job["total_gpus"], job["worker_count"], job["spec"]) == (12, 12, 2, None)


def test_private_values_are_for_the_person_who_entered_them(api, team, pool, body):
    owner, mate = make_user(team), make_user(team, admin=True)
    body["env"] = [{"name": "KEY", "value": "s3cret", "private": True}, {"name": "B", "value": "b"}]
    job = made(api(owner).post(JOBS, body))
    assert job["env"][0] == {"name": "KEY", "value": "s3cret", "private": True}
    seen = api(mate).get(f"{JOBS}{job['id']}/").json()
    assert [v["value"] for v in seen["env"]] == [None, "b"]
    row = Job.objects.get()
    assert "s3cret" not in str(row.request) + str(row.frozen)
    assert b"s3cret" not in bytes(PrivateValue.objects.get().ciphertext)


def test_what_another_team_has_is_unknown(api, body):
    stranger_team = make_team()
    zone = make_zone()
    mine = make_pool(stranger_team, zone=zone)
    client = api(make_user(stranger_team))
    assert ("pool_unknown", "pool") in errors(client.post(JOBS, body))
    other = make_volume(zone, make_team())
    custom = make_image(zone, team=make_team())
    asked = body | {"pool": mine.pk, "spec": worker_spec(mine, 1).pk, "image": custom.pk}
    asked["mounts"] = [{"volume": other.pk, "mount_path": "/mnt/x"}]
    assert set(errors(client.post(JOBS, asked))) == {
        ("image_unknown", "image"),
        ("volume_unknown", "mounts.0.volume"),
    }
    asked = body | {"team": 1 + max(stranger_team.pk, mine.pk) * 1000}
    assert ("team_unknown", "team") in errors(client.post(JOBS, asked))


def test_high_priority_needs_the_right(client, api, team, body):
    assert errors(client.post(JOBS, body | {"priority": "high"})) == [("priority_needs_right", "priority")]
    assert made(api(make_user(team, high=True)).post(JOBS, body | {"priority": "high"}))["priority"] == "high"


def test_names_may_repeat(client, body):
    assert len({made(client.post(JOBS, body | {"name": "汉" * 128}))["id"] for _ in range(2)}) == 2


@pytest.mark.parametrize("query", ["dry_rn=true", "dry_run=maybe", "dry_run=true&dry_run=false", "ranks=7"])
def test_bad_parameters_make_no_job(client, body, query):
    assert errors(client.post(f"{JOBS}?{query}", body))[0][1] == query.partition("=")[0]
