"""REST: reruns, plain and modified."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from images.models import Image
from jobs.models import IdempotencyKey, Job, PrivateValue
from jobs.rerun import CHANGEABLE
from jobs.serializers import JobRequestSerializer
from pools.models import Pool, WorkerSpec
from storage.models import Volume
from teams.models import Membership, Team, User
from teams.vault import decrypt
from tests.factories import (
    make_flavor,
    make_image,
    make_pool,
    make_team,
    make_user,
    make_volume,
    make_zone,
    occupy,
    worker_spec,
)
from tests.jobs.answers import made
from tests.jobs.test_clone import everything  # noqa: F401  # every field with an unusual value

pytestmark = pytest.mark.django_db
JOBS = "/api/v1/jobs/"
OF_A_JOB = ("id", "created_at", "queue", "origin", "state", "reason", "started_at", "ended_at")


@pytest.fixture
def pool(team: Team) -> Pool:
    return make_pool(team, zone=make_zone(public_data="/srv/public"), network="roce")


@pytest.fixture
def alice(team: Team) -> User:
    return make_user(team, name="alice", high=True)


@pytest.fixture
def user(alice: User) -> User:
    return alice


@pytest.fixture
def bob(team: Team) -> User:
    return make_user(team, name="bob")


@pytest.fixture
def least(body: dict[str, Any], pool: Pool) -> dict[str, Any]:
    return body | {"spec": worker_spec(pool, 8).pk}


@pytest.fixture
def client(api: Any, alice: User) -> Any:
    return api(alice)


def rerun(client: Any, key: str, body: Any = None, query: str = "", **more: Any) -> Any:
    return client.post(f"{JOBS}{key}/rerun/{query}", {} if body is None else body, **more)


def refused(answer: Any) -> list[tuple[str, str]]:
    assert answer.status_code == 400, answer.content
    return [(error["code"], error["attr"]) for error in answer.json()["errors"]]


def same(job: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in job.items() if name not in OF_A_JOB}


def test_the_request_comes_again_as_it_was_frozen(client: Any, everything: dict[str, Any]) -> None:  # noqa: F811
    private = {"name": "KEY", "value": "sekret-4711", "private": True}
    first = made(client.post(JOBS, everything | {"env": [*everything["env"], private]}))
    Job.objects.update(state="failed", ended_at=timezone.now())
    second = made(rerun(client, first["id"]))
    assert same(second) == same(first)
    assert second["origin"] == {
        "id": first["id"],
        "kind": "rerun",
        "differences": [{"field": "env.KEY", "how": "private_kept", "old": None, "new": None}],
    }
    third = made(rerun(client, second["id"]))
    assert same(third) == same(first)
    jobs = Job.objects.order_by("pk")
    assert jobs[0].request == jobs[1].request == jobs[2].request


def test_without_a_body_it_is_a_plain_one(client: Any, body: dict[str, Any]) -> None:
    first = made(client.post(JOBS, body | {"hang_detection": True}))
    for kind in ("", "application/json", "application/x-www-form-urlencoded"):
        more = {"content_type": kind} if kind else {}
        answer = client.generic("POST", f"{JOBS}{first['id']}/rerun/", b"", **more)
        assert (answer.status_code, answer.json()["origin"]["kind"]) == (201, "rerun"), kind
        assert same(answer.json()) == same(first)
    for other in (b"null", b"[]", b"3", b'"x"'):
        answer = client.generic("POST", f"{JOBS}{first['id']}/rerun/", other, "application/json")
        assert answer.status_code == 400, other
    assert made(rerun(client, first["id"], {"command": body["command"]}))["origin"]["kind"] == "rerun"


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("command", "python train.py\n", ("command", "echo hello", "python train.py\n")),
        ("worker_count", 3, ("worker_count", 1, 3)),
        ("custom_gpus", 12, ("custom_gpus", None, 12)),
        ("hang_detection", True, ("hang_detection", False, True)),
        ("hang_timeout_seconds", 60, ("hang_timeout_seconds", 1800, 60)),
        ("hang_action", "fail", ("hang_action", None, "fail")),
    ],
)
def test_what_may_be_changed(
    client: Any, body: dict[str, Any], name: str, value: Any, told: tuple[str, Any, Any]
) -> None:
    first = made(client.post(JOBS, body))
    second = made(rerun(client, first["id"], {name: value}))
    assert (second[name], second["origin"]["kind"]) == (value, "modified")
    changed = [(d["field"], d["old"], d["new"]) for d in second["origin"]["differences"]]
    assert told in changed


@pytest.mark.usefixtures("any_image")
def test_spec_and_image_may_be_changed(client: Any, body: dict[str, Any], pool: Pool) -> None:
    first = made(client.post(JOBS, body | {"spec": worker_spec(pool, 8).pk, "rdma": True}))
    image, spec = make_image(pool.zone, reference="python:3"), worker_spec(pool, 4)
    second = made(rerun(client, first["id"], {"spec": spec.pk, "image": image.pk}))
    assert (second["spec"]["id"], second["image"]["id"], second["rdma"]) == (spec.pk, image.pk, False)
    assert {d["field"] for d in second["origin"]["differences"]} == {"spec", "image", "rdma"}


def test_a_custom_count_and_back(client: Any, body: dict[str, Any], pool: Pool) -> None:
    other = make_flavor(pool)
    first = made(client.post(JOBS, body))
    custom = made(rerun(client, first["id"], {"custom_gpus": 5, "flavor": other.pk}))
    assert (custom["custom_gpus"], custom["spec"], custom["flavor"]["id"]) == (5, None, other.pk)
    back = made(rerun(client, custom["id"], {"spec": body["spec"], "worker_count": 2}))
    assert (back["custom_gpus"], back["spec"]["id"], back["worker_count"]) == (None, body["spec"], 2)
    assert refused(rerun(client, custom["id"], {"worker_count": 2})) == [
        ("excluded_by_custom_gpus", "worker_count")
    ]
    assert refused(rerun(client, custom["id"], {"custom_gpus": None})) == [("required", "spec")]
    assert refused(rerun(client, first["id"], {"custom_gpus": 5})) == [("required", "flavor")]


KEPT = sorted(set(JobRequestSerializer().fields) - set(CHANGEABLE))


@pytest.mark.parametrize("name", KEPT)
def test_every_other_field_is_named(client: Any, body: dict[str, Any], name: str) -> None:
    first = made(client.post(JOBS, body))
    answer = rerun(client, first["id"], {name: body.get(name), "command": "x"})
    assert refused(answer) == [("not_in_rerun", name)]
    assert "clone" in answer.json()["errors"][0]["detail"]
    assert Job.objects.count() == 1


def test_no_number_of_workers_is_the_number_of_the_job(client: Any, body: dict[str, Any]) -> None:
    key = client.post("/api/v1/jobs/", body | {"worker_count": 3}, "json").json()["id"]
    asked = client.post(f"/api/v1/jobs/{key}/rerun/?dry_run=true", {"worker_count": None}, "json").json()
    assert asked["wanted"] == 3


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        ({"comand": "x"}, ("unknown", "comand")),
        ({"state": "queued"}, ("read_only", "state")),
        ({"origin": None}, ("read_only", "origin")),
        ({"worker_count": "2"}, ("invalid", "worker_count")),
        ({"worker_count": 0}, ("out_of_range", "worker_count")),
        ({"custom_gpus": 0}, ("out_of_range", "custom_gpus")),
        ({"command": ""}, ("required", "command")),
        ({"command": None}, ("null", "command")),
        ({"spec": 10**9}, ("spec_unknown", "spec")),
        ({"spec": None}, ("required", "spec")),
        ({"image": 10**9}, ("image_unknown", "image")),
        ({"hang_timeout_seconds": 1}, ("out_of_range", "hang_timeout_seconds")),
        (
            {"hang_detection": True, "hang_action": "restart"},
            ("hang_restart_needs_auto_restart", "hang_action"),
        ),
        ({"worker_count": 1000}, ("never_fits", "worker_count")),
        ({"private_env": [{"name": "A", "value": ""}]}, ("not_private_there", "private_env.0.name")),
        ({"private_env": [{"name": "A"}]}, ("required", "private_env.0.value")),
        (
            {"private_env": [{"name": "A", "value": "", "private": True}]},
            ("unknown", "private_env.0.private"),
        ),
        ({"private_env": {"A": ""}}, ("not_a_list", "private_env")),
    ],
)
def test_what_is_refused(client: Any, body: dict[str, Any], sent: Any, error: tuple[str, str]) -> None:
    first = made(client.post(JOBS, body | {"env": [{"name": "A", "value": "1"}]}))
    assert refused(rerun(client, first["id"], sent)) == [error]
    assert Job.objects.count() == 1


def test_a_dry_run_answers_the_estimate_and_what_follows(
    client: Any, body: dict[str, Any], pool: Pool
) -> None:
    first = made(client.post(JOBS, body | {"spec": worker_spec(pool, 8).pk, "rdma": True}))
    told = rerun(client, first["id"], {"spec": worker_spec(pool, 2).pk}, "?dry_run=true")
    answer = told.json()
    assert (told.status_code, answer["valid"], answer["total_gpus"]) == (200, True, 2)
    assert [(one["code"], one["message"]) for one in answer["follows"]] == [("rdma_off", "RDMA goes off")]
    assert rerun(client, first["id"], None, "?dry_run=true").json()["follows"] == []
    broken = rerun(client, first["id"], {"spec": 10**9}, "?dry_run=true").json()
    assert (broken["valid"], broken["findings"][0]["code"]) == (False, "spec_unknown")
    assert (
        len(rerun(client, first["id"], {"worker_count": 4}, "?dry_run=true&ranks=all").json()["workers"]) == 4
    )
    assert rerun(client, first["id"], None, "?dryrun=true").status_code == 400
    assert Job.objects.count() == 1


def test_who_would_wait_and_must_not_gets_a_409(client: Any, body: dict[str, Any], pool: Pool) -> None:
    first = made(client.post(JOBS, body | {"start_policy": "now"}))
    occupy(pool, [8, 8, 8, 8])
    answer = rerun(client, first["id"])
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (409, "cannot_start_now")
    assert Job.objects.count() == 1


def test_team_mates_may_and_strangers_find_nothing(
    api: Any, client: Any, bob: User, body: dict[str, Any]
) -> None:
    first = made(client.post(JOBS, body))
    assert made(rerun(api(bob), first["id"]))["creator"] == "bob"
    carol = api(make_user(make_team()))
    assert rerun(carol, first["id"]).status_code == 404
    assert rerun(carol, first["id"], {"pool": 1}).status_code == 404
    assert rerun(carol, first["id"], None, "?dry_run=true").status_code == 404
    assert client.get(f"{JOBS}{first['id']}/rerun/").status_code == 405
    assert Job.objects.count() == 2
    Membership.objects.filter(user=bob).delete()
    assert rerun(api(bob), first["id"]).status_code == 404


def test_high_priority_is_repeated_for_whom_it_is_granted_and_normal_for_others(
    api: Any, client: Any, bob: User, body: dict[str, Any]
) -> None:
    first = made(client.post(JOBS, body | {"priority": "high"}))
    assert made(rerun(client, first["id"]))["priority"] == "high"
    dry = rerun(api(bob), first["id"], query="?dry_run=true").json()
    assert [change["code"] for change in dry["follows"]] == ["priority_lowered"]
    second = made(rerun(api(bob), first["id"]))
    assert (second["priority"], second["origin"]["kind"]) == ("normal", "rerun")
    assert [d["field"] for d in second["origin"]["differences"]] == ["priority"]
    bodies = [who.get(f"{JOBS}{first['id']}/clone/").json() for who in (client, api(bob))]
    assert [body["priority"] for body in bodies] == ["high", "normal"]


@pytest.mark.parametrize(("sent", "edited"), [("high", "low"), ("low", "high"), ("normal", "low")])
def test_the_priority_of_today_is_repeated(client: Any, body: dict[str, Any], sent: str, edited: str) -> None:
    first = made(client.post(JOBS, body | {"priority": sent}))["id"]
    assert client.patch(f"{JOBS}{first}/", {"priority": edited}, format="json").status_code == 200
    assert client.get(f"{JOBS}{first}/clone/").json()["priority"] == edited
    for changes in (None, {"command": "echo other"}):
        again = made(rerun(client, first, changes))
        assert again["priority"] == edited
        assert "priority" not in [d["field"] for d in again["origin"]["differences"]]


def test_one_key_makes_one_job(client: Any, body: dict[str, Any]) -> None:
    env = [{"name": "KEY", "value": "s3cret", "private": True}]
    first = made(client.post(JOBS, body | {"env": env}))
    headers = {"Idempotency-Key": "k-1"}
    one = rerun(client, first["id"], {"worker_count": 2}, headers=headers)
    two = rerun(client, first["id"], {"worker_count": 2}, headers=headers)
    assert (one.status_code, two.status_code, two["Idempotent-Replayed"]) == (201, 201, "true")
    assert one.json() == two.json()
    assert two.json()["env"][0]["value"] == "s3cret"
    assert "s3cret" not in str(IdempotencyKey.objects.get().answer)
    assert rerun(client, first["id"], {"worker_count": 3}, headers=headers).status_code == 422
    other = rerun(client, one.json()["id"], {"worker_count": 2}, headers=headers)  # of another job
    assert other.status_code == 201
    assert Job.objects.count() == 3
    bad = {"Idempotency-Key": "k-2"}
    assert rerun(client, first["id"], {"command": ""}, headers=bad).status_code == 400
    assert rerun(client, first["id"], {"command": "x"}, headers=bad).status_code == 201


@pytest.fixture
def full(client: Any, body: dict[str, Any], pool: Pool, team: Team) -> dict[str, Any]:
    mounts = [{"volume": make_volume(pool.zone, team, name="public").pk, "mount_path": "/mnt/public"}]
    return made(client.post(JOBS, body | {"mounts": mounts, "env": [{"name": "A", "value": "1"}]}))


@pytest.mark.parametrize(
    ("model", "code", "field"),
    [
        (WorkerSpec, "spec_unknown", "spec"),
        (Image, "image_unknown", "image"),
        (Volume, "volume_unknown", "mounts.0.volume"),
        (Pool, "pool_unknown", "pool"),
    ],
)
def test_what_is_retired_is_named(
    client: Any, full: dict[str, Any], body: dict[str, Any], model: Any, code: str, field: str
) -> None:
    names = {"spec": "1 GPU", "image": full["image"]["reference"], "pool": full["pool"]["name"]}
    model.objects.update(retired_at=timezone.now())
    answer = rerun(client, full["id"])
    assert refused(answer)[0] == (code, field)
    said = answer.json()["errors"][0]["detail"]
    assert f"{names.get(field, 'public')} was retired: choose another" in said
    dry = rerun(client, full["id"], None, "?dry_run=true")
    assert (dry.status_code, dry.json()["valid"]) == (200, False)
    assert dry.json()["findings"][0]["message"] == answer.json()["errors"][0]["detail"]
    assert Job.objects.count() == 1

    for part in ("", "clone/", "events/", "workers/"):  # the old job is all there, with its names
        assert client.get(f"{JOBS}{full['id']}/{part}").status_code == 200
    seen = client.get(f"{JOBS}{full['id']}/").json()
    assert same(seen) == same(full)
    clone = client.get(f"{JOBS}{full['id']}/clone/").json()
    again = client.post(JOBS, clone)
    assert refused(again)[0] == (code, field)
    assert again.json()["errors"][0]["detail"] == said


def test_what_another_team_had_is_not_said_to_be_retired(client: Any, body: dict[str, Any]) -> None:
    theirs = make_pool(other := make_team())
    image = make_image(theirs.zone, team=other, retired_at=timezone.now())
    Pool.objects.filter(pk=theirs.pk).update(retired_at=timezone.now())
    for field, pk in (("image", image.pk), ("pool", theirs.pk)):
        (wrong,) = client.post(JOBS, body | {field: pk}).json()["errors"]
        assert "retired" not in wrong["detail"]


def test_another_spec_takes_the_place_of_a_retired_one(
    client: Any, full: dict[str, Any], body: dict[str, Any], pool: Pool
) -> None:
    WorkerSpec.objects.filter(pk=body["spec"]).update(retired_at=timezone.now())
    job = made(rerun(client, full["id"], {"spec": worker_spec(pool, 2).pk}))
    (told,) = job["origin"]["differences"]
    assert (told["field"], told["old"], told["new"]) == ("spec", body["spec"], job["spec"]["id"])


def test_a_pool_that_is_not_the_teams_any_more(client: Any, full: dict[str, Any], pool: Pool) -> None:
    pool.grants.all().delete()
    answer = rerun(client, full["id"])
    assert refused(answer)[0] == ("pool_unknown", "pool")
    assert pool.name in answer.json()["errors"][0]["detail"]


SECRET = "sekret-4711"


@pytest.fixture
def secret(client: Any, body: dict[str, Any]) -> str:
    """A job of alice with two private values."""
    env = [
        {"name": "A", "value": "1"},
        {"name": "KEY", "value": SECRET, "private": True},
        {"name": "KEY2", "value": SECRET * 2, "private": True},
    ]
    key: str = made(client.post(JOBS, body | {"env": env}))["id"]
    return key


def values(key: str) -> dict[str, tuple[str, str]]:
    stored = PrivateValue.objects.filter(job__key=key).select_related("owner")
    return {v.name: (decrypt(v.ciphertext), v.owner.username) for v in stored}


def test_a_team_mates_rerun_uses_the_values_unread(api: Any, client: Any, bob: User, secret: str) -> None:
    second = made(rerun(api(bob), secret, {"worker_count": 2, "hang_detection": True}))
    assert [v["value"] for v in second["env"]] == ["1", None, None]
    assert values(second["id"]) == {"KEY": (SECRET, "alice"), "KEY2": (SECRET * 2, "alice")}
    third = made(rerun(client, second["id"]))
    assert [v["value"] for v in third["env"]] == ["1", SECRET, SECRET * 2]


@pytest.mark.usefixtures("any_image")
def test_whoever_changes_what_runs_enters_them_anew(
    api: Any, client: Any, bob: User, secret: str, pool: Pool
) -> None:
    theirs = api(bob)
    for change in ({"command": "echo $KEY"}, {"image": make_image(pool.zone, reference="python:3").pk}):
        answer = rerun(theirs, secret, change)
        assert set(refused(answer)) == {("private_enter_anew", "private_env")}
        assert rerun(theirs, secret, change, "?dry_run=true").json()["valid"] is False
        half = [{"name": "KEY", "value": "bobs"}]  # one of the two would still go along
        assert refused(rerun(theirs, secret, change | {"private_env": half})) == [
            ("private_enter_anew", "private_env")
        ]
        own = [*half, {"name": "KEY2", "value": ""}]
        made_anew = made(rerun(theirs, secret, change | {"private_env": own}))
        assert values(made_anew["id"]) == {"KEY": ("bobs", "bob"), "KEY2": ("", "bob")}
    assert refused(rerun(theirs, secret, {"private_env": [{"name": "KEY", "value": "x"}]})) == [
        ("private_enter_anew", "private_env")
    ]
    assert Job.objects.count() == 3
    owner = made(rerun(client, secret, {"command": "echo $KEY"}))  # alice may do with hers as she likes
    assert values(owner["id"])["KEY"] == (SECRET, "alice")


def test_nothing_else_that_puts_another_program_there_can_be_changed(
    api: Any, bob: User, secret: str
) -> None:
    for name in ("env", "mounts", "public_data", "framework"):
        assert refused(rerun(api(bob), secret, {name: []})) == [("not_in_rerun", name)]
    loader = [{"name": "BASH_ENV", "value": "/mnt/mine/print.sh"}]
    assert refused(rerun(api(bob), secret, {"private_env": loader})) == [
        ("not_private_there", "private_env.0.name")
    ]
    public = [{"name": "A", "value": "2"}]
    assert refused(rerun(api(bob), secret, {"private_env": public})) == [
        ("not_private_there", "private_env.0.name")
    ]
    assert Job.objects.count() == 1


def test_values_of_the_difference_are_nobodys_to_read(api: Any, client: Any, bob: User, secret: str) -> None:
    own = [{"name": "KEY", "value": "another-sekret"}]
    second = made(rerun(client, secret, {"private_env": own}))
    told = [(d["field"], d["how"]) for d in second["origin"]["differences"]]
    assert told == [("env.KEY", "private_entered"), ("env.KEY2", "private_kept")]
    seen = api(bob).get(f"{JOBS}{second['id']}/").content.decode()
    assert "sekret" not in seen
