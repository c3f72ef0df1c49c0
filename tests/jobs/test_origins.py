"""Where a job comes from, and what was changed: field by field, and nothing of private values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from jobs.difference import Asked, Difference, How, differences
from jobs.forms.differences import difference_rows
from jobs.models import Job
from jobs.spec import EnvVar, MountSpec
from tests.factories import make_image, make_job, make_pool, make_team, make_user, worker_spec
from tests.jobs.answers import made
from tests.jobs.pages import CREATE, Page
from tests.jobs.value_facts import spec

JOBS = "/api/v1/jobs/"
OLD = spec(env=(EnvVar("A", "1"), EnvVar("K", None, True)), mounts=(MountSpec(1, "/mnt/a"),), tags=("x",))
FROZEN: dict[str, Any] = {
    "pool": {"id": 1, "name": "north"},
    "flavor": {"id": 1, "name": "a100"},
    "spec": {"id": 1, "name": "1 GPU"},
    "image": {"id": 1, "reference": "host", "digest": ""},
    "mounts": [{"volume": 1, "name": "public"}],
}


def found(changes: dict[str, Any], kept: tuple[str, ...] = ("K",), **frozen: Any) -> list[Difference]:
    new = Asked(replace(OLD, **changes), FROZEN | frozen)
    return [d for d in differences(Asked(OLD, FROZEN), new, kept) if d.how != How.KEPT]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, None),
        ({"worker_count": 1}, None),  # the default, written out
        ({"mounts": (MountSpec(1, "/mnt//a/"),)}, None),
        ({"env": OLD.env[::-1]}, None),
        ({"worker_count": 2}, Difference("worker_count", How.CHANGED, 1, 2)),
        ({"command": "false"}, Difference("command", How.CHANGED, "true", "false")),
        ({"name": "b"}, Difference("name", How.CHANGED, "a job", "b")),
        ({"tags": ()}, Difference("tags", How.CHANGED, ["x"], [])),
        ({"rdma": True}, Difference("rdma", How.CHANGED, False, True)),
        ({"max_runtime_minutes": 5}, Difference("max_runtime_minutes", How.CHANGED, None, 5)),
        ({"env": OLD.env[1:]}, Difference("env.A", How.REMOVED, "1")),
        ({"env": (*OLD.env, EnvVar("B", ""))}, Difference("env.B", How.ADDED, None, "")),
        ({"env": (EnvVar("A", "2"), OLD.env[1])}, Difference("env.A", How.CHANGED, "1", "2")),
        ({"env": (EnvVar("A", None, True), OLD.env[1])}, Difference("env.A", How.ENTERED, "1")),
        (
            {"env": (OLD.env[0], EnvVar("K", "now public"))},
            Difference("env.K", How.CHANGED, None, "now public"),
        ),
        ({"env": OLD.env[:1]}, Difference("env.K", How.REMOVED)),
        ({"mounts": ()}, Difference("mounts./mnt/a", How.REMOVED, 1, None, "public")),
    ],
)
def test_what_is_different(changes: dict[str, Any], told: Difference | None) -> None:
    assert found(changes) == ([told] if told else [])


def test_things_have_the_names_that_they_had() -> None:
    (one,) = found({"spec": 4}, spec={"id": 4, "name": "8 GPU"})
    assert (one.old, one.new, one.old_name, one.new_name) == (1, 4, "1 GPU", "8 GPU")
    (one,) = found({}, image={"id": 1, "reference": "host", "digest": "sha256:1"})
    assert (one.field, one.old_name, one.new_name) == ("image", "host", "host@sha256:1")


def test_of_private_values_only_where_they_come_from_is_told() -> None:
    for kept, how in ((("K",), How.KEPT), ((), How.ENTERED)):
        told = differences(Asked(OLD, FROZEN), Asked(OLD, FROZEN), kept)
        assert told == (Difference("env.K", how),)


def test_on_the_page_it_is_in_words() -> None:
    changes = {
        "command": "a\nb\nc",
        "rdma": True,
        "priority": "low",
        "max_queue_minutes": 5,
        "keep_after_failure_minutes": 60,
        "hang_action": "fail",
        "tags": ("x", "y"),
    }
    rows = {row.label: row for row in difference_rows(found(changes), {})}
    assert [(row.old, row.new) for label, row in rows.items() if label != "Start command"] == [
        ("off", "on"),
        ("restart if automatic restart is on, else notify", "end the job as failed"),
        ("x", "x, y"),
        ("normal", "low"),
        ("–", "5"),
        ("0", "60"),
    ]
    assert rows["Start command"].lines == "-true\n+a\n+b\n+c"
    (long,) = difference_rows(found({"command": "a\n" * 1000}), {})
    assert (long.lines, long.note) == ("", "changed; it is too long to compare")
    apart = "\n".join(map(str, range(9)))
    old = Asked(replace(OLD, command=apart), FROZEN)
    new = Asked(replace(OLD, command=apart.replace("0", "x").replace("8", "y")), FROZEN)
    (row, _key) = difference_rows(differences(old, new, ()), {})
    assert row.lines == "-0\n+x\n 1\n…\n 7\n-8\n+y"


@pytest.fixture
def team(db: None) -> Any:
    return make_team()


@pytest.fixture
def first(api: Any, team: Any, pool: Any, body: Any) -> dict[str, Any]:
    env = [{"name": "KEY", "value": "sekret-4711", "private": True}, {"name": "A", "value": "1"}]
    job: dict[str, Any] = made(api(make_user(team, name="alice")).post(JOBS, body | {"env": env}))
    return job


def test_a_form_remembers_the_job_that_it_was_filled_from(
    client: Client, api: Any, team: Any, first: dict[str, Any]
) -> None:
    bob = make_user(team, name="bob")
    client.force_login(bob)
    fields = Page(client.get(f"{CREATE}?from={first['id']}")).fields()
    answer = client.post(CREATE, fields | {"worker_count": ["2"], "name": ["again"]})
    assert answer.status_code == 303
    job = Job.objects.latest("pk")
    assert (job.origin, job.origin_kind) == (Job.objects.get(key=first["id"]), "clone")
    told = api(bob).get(f"{JOBS}{job.key}/").json()["origin"]
    assert (told["id"], told["kind"]) == (first["id"], "clone")
    assert told["differences"] == [
        {"field": "name", "how": "changed", "old": "a job", "new": "again"},
        {"field": "worker_count", "how": "changed", "old": 1, "new": 2},
        {"field": "env.KEY", "how": "private_kept", "old": None, "new": None},
    ]
    rows = api(bob).get(JOBS).json()["results"]
    assert [row["origin"] for row in rows] == [{"id": first["id"], "kind": "clone"}, None]

    page = client.get(f"/jobs/{job.key}/").content.decode()
    assert f'href="/jobs/{first["id"]}/"' in page
    assert "the private value of the earlier job, used again" in page
    assert f'href="/jobs/{job.key}/"' in client.get(f"/jobs/{first['id']}/").content.decode()


def test_a_value_entered_anew_is_told_as_such(client: Client, api: Any, first: dict[str, Any]) -> None:
    alice = Job.objects.get().creator
    client.force_login(alice)
    fields = Page(client.get(f"{CREATE}?from={first['id']}")).fields()
    assert client.post(CREATE, fields).status_code == 303
    told = api(alice).get(f"{JOBS}{Job.objects.latest('pk').key}/").json()["origin"]["differences"]
    assert [(d["field"], d["how"]) for d in told] == [("env.KEY", "private_entered")]
    assert "sekret" not in str(told)


def test_a_job_that_one_does_not_see_is_no_origin(
    client: Client, api: Any, team: Any, pool: Any, body: Any, first: dict[str, Any]
) -> None:
    carol, theirs = make_user(other := make_team(), name="carol"), make_pool(other)
    client.force_login(carol)
    fields = Page(client.get(CREATE)).fields() | {
        "spec": [str(worker_spec(theirs, 1).pk)],
        "image": [str(make_image(theirs.zone).pk)],
        "command": ["x"],
        "name": ["x"],
        "origin": [first["id"]],
    }
    assert client.post(CREATE, fields).status_code == 303
    job = Job.objects.latest("pk")
    assert (job.origin, job.origin_kind) == (None, "")

    Job.objects.filter(pk=job.pk).update(origin=Job.objects.get(key=first["id"]), origin_kind="clone")
    seer = make_user(team, other)
    client.force_login(seer)
    page = client.get(f"/jobs/{job.key}/").content.decode()
    assert f"<del>{team.name}</del>" in page
    assert f"<ins>{other.name}</ins>" in page
    client.force_login(carol)
    both = api(seer)
    assert both.get(f"{JOBS}{job.key}/").json()["origin"]["id"] == first["id"]
    assert api(carol).get(f"{JOBS}{job.key}/").json()["origin"] is None
    assert [row["origin"] for row in api(carol).get(JOBS).json()["results"]] == [None]
    assert first["id"] not in client.get(f"/jobs/{job.key}/").content.decode()
    client.force_login(make_user(team))
    page = client.get(f"/jobs/{first['id']}/")
    assert page.status_code == 200
    assert job.key not in page.content.decode()


@pytest.mark.django_db
def test_a_console_before_origins_can_still_write_jobs() -> None:
    """While a console is renewed, the older one goes on for a moment, and does not know these columns."""
    job = make_job(make_user(team := make_team()), make_pool(team))
    unknown = {"id", "key", "origin_id", "origin_kind"}
    columns = [field.column for field in Job._meta.concrete_fields if field.column not in unknown]
    names = ", ".join(connection.ops.quote_name(column) for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO jobs_job ({names}, key) SELECT {names}, 'jo-older' FROM jobs_job")
    older = Job.objects.exclude(pk=job.pk).get()
    assert (older.origin_id, older.origin_kind) == (None, "")
