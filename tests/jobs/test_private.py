"""Private values: read by whoever entered them, used again unread, and told to nobody else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client

from jobs.facts import SourceFacts
from jobs.models import IdempotencyKey, Job, PrivateValue
from jobs.rules import check
from jobs.rules.private import runs_the_same
from jobs.scheduling import queue_cycle
from jobs.spec import EnvVar, MountSpec
from teams.vault import decrypt
from tests.factories import make_image, make_pool, make_team, make_user, make_volume, make_zone, worker_spec
from tests.jobs.answers import made
from tests.jobs.pages import CREATE, Page
from tests.jobs.value_facts import facts, spec

pytestmark = pytest.mark.django_db
JOBS = "/api/v1/jobs/"
SECRET = "sekret-4711"
JOB = "jo-" + "a" * 16


def kept(name: str = "KEY", job: str = JOB, private: bool = True) -> EnvVar:
    return EnvVar(name, None, private, from_job=job)


@pytest.mark.parametrize(
    ("variable", "source", "code"),
    [
        (kept(), SourceFacts(unchanged=True, owners={"KEY": 1}), None),
        (kept(), SourceFacts(unchanged=False, owners={"KEY": 1}), None),  # entered by the sender
        (kept(), SourceFacts(unchanged=True, owners={"KEY": 2}), None),
        (kept(), SourceFacts(unchanged=False, owners={"KEY": 2}), "private_enter_anew"),
        (kept("OTHER"), SourceFacts(unchanged=True, owners={"KEY": 1}), "private_source_unknown"),
        (kept(job="jo-b"), SourceFacts(unchanged=True, owners={"KEY": 1}), "private_source_unknown"),
        (kept(), SourceFacts(True, {"KEY": 1}, unreadable={"KEY"}), "private_source_unreadable"),
        (kept(), SourceFacts(True, {"KEY": 2}, unreadable={"KEY"}), "private_source_unreadable"),
        (kept(), SourceFacts(True, {"KEY": 1, "K": 1}, unreadable={"K"}), None),
        (kept(private=False), SourceFacts(unchanged=True, owners={"KEY": 1}), "private_source_in_clear"),
    ],
)
def test_whose_value_may_be_used_again(variable, source, code):
    asked = spec(env=(EnvVar("A", "1"), variable))
    found = [f for f in check(asked, facts(user=1, sources={JOB: source})) if f.field.startswith("env")]
    assert [(f.code, f.field) for f in found] == ([(code, "env.1.from_job")] if code else [])


SOURCE = spec(
    env=(EnvVar("A", "1"), EnvVar("KEY", None, True), EnvVar("B", "2"), EnvVar("KEY2", None, True)),
    mounts=(MountSpec(1, "/mnt/a"), MountSpec(2, "/mnt/b")),
)
KEPT = (EnvVar("B", "2"), kept("KEY2"), kept("KEY"), EnvVar("A", "1"))


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({}, True),
        ({"mounts": SOURCE.mounts[::-1]}, True),
        ({"worker_count": 4, "spec": 2, "pool": 9, "rdma": True}, True),
        ({"name": "other", "tags": ("x",), "description": "d", "priority": "low"}, True),
        ({"max_runtime_minutes": 5, "auto_restart": True, "hang_detection": True}, True),
        ({"command": "echo $KEY"}, False),
        ({"team": 2}, False),
        ({"image": 2}, False),
        ({"framework": "pytorch_ddp"}, False),
        ({"public_data": True}, False),
        ({"mounts": (MountSpec(2, "/mnt/a"), MountSpec(1, "/mnt/b"))}, False),
        ({"mounts": SOURCE.mounts[:1]}, False),
        ({"env": (*KEPT, EnvVar("BASH_ENV", "/mnt/mine/print.sh"))}, False),
        ({"env": (*KEPT, EnvVar("LD_PRELOAD", "/mnt/mine/print.so", private=True))}, False),
        ({"env": (*KEPT[:2], EnvVar("KEY", "own", private=True), KEPT[3])}, False),
        ({"env": (*KEPT[:2], kept("KEY", job="jo-" + "b" * 16), KEPT[3])}, False),
        ({"env": (*KEPT[:3], EnvVar("A", "2"))}, False),
        ({"env": KEPT[:3]}, False),
        ({"env": KEPT[1:]}, False),
        ({"env": (KEPT[0], *KEPT[2:])}, False),
    ],
)
def test_what_has_to_be_unchanged(change, same):
    assert runs_the_same(replace(SOURCE, **({"env": KEPT} | change)), SOURCE, JOB) is same


def test_where_it_came_from_is_not_kept():
    public = spec(env=(kept(), EnvVar("OWN", "x", private=True))).public()
    assert list(public.as_json()["env"]) == [
        {"name": "KEY", "value": None, "private": True},
        {"name": "OWN", "value": None, "private": True},
    ]


@pytest.fixture
def alice(team):
    return make_user(team, name="alice")


@pytest.fixture
def bob(team):
    return make_user(team, name="bob")


@pytest.fixture
def first(api, alice, body):
    """A job of alice with a private value."""
    env = [{"name": "KEY", "value": SECRET, "private": True}, {"name": "A", "value": "1"}]
    return made(api(alice).post(JOBS, body | {"env": env}))["id"]


def value_of(key: str) -> tuple[str, str]:
    stored = PrivateValue.objects.get(job__key=key)
    return decrypt(stored.ciphertext), stored.owner.username


def codes(answer: Any) -> list[tuple[str, str]]:
    assert answer.status_code == 400, answer.content
    return [(error["code"], error["attr"]) for error in answer.json()["errors"]]


@pytest.mark.usefixtures("any_image")
def test_the_owners_copy_has_the_value_whatever_else_changes(api, alice, first, body, pool):
    copy = api(alice).get(f"{JOBS}{first}/clone/").json()
    changed = {"command": "printf %s $KEY", "image": make_image(pool.zone, reference="python:3").pk}
    second = made(api(alice).post(JOBS, copy | changed))
    assert second["env"][0] == {"name": "KEY", "value": SECRET, "private": True}
    assert value_of(second["id"]) == (SECRET, "alice")


def test_a_team_mates_copy_runs_with_the_value_and_tells_it_only_to_its_owner(api, alice, bob, first):
    copy = api(bob).get(f"{JOBS}{first}/clone/").json()
    second = made(api(bob).post(JOBS, copy | {"worker_count": 2, "name": "bob's"}))
    assert second["env"][0] == {"name": "KEY", "value": None, "private": True}
    assert value_of(second["id"]) == (SECRET, "alice")
    assert api(alice).get(f"{JOBS}{second['id']}/").json()["env"][0]["value"] == SECRET

    third = made(
        api(bob).post(JOBS, api(bob).get(f"{JOBS}{second['id']}/clone/").json())
    )  # a copy of the copy
    assert value_of(third["id"]) == (SECRET, "alice")


@pytest.mark.usefixtures("any_image")
def test_whoever_changes_what_runs_enters_values_anew(api, bob, first, pool):
    copy = api(bob).get(f"{JOBS}{first}/clone/").json()
    for change in ({"command": "echo $KEY"}, {"image": make_image(pool.zone, reference="python:3").pk}):
        assert codes(api(bob).post(JOBS, copy | change)) == [("private_enter_anew", "env.0.from_job")]
        findings = api(bob).post(f"{JOBS}?dry_run=true", copy | change).json()["findings"]
        assert "private_enter_anew" in {f["code"] for f in findings}
    own = [{"name": "KEY", "value": "bobs", "private": True}]
    second = made(api(bob).post(JOBS, copy | {"command": "echo $KEY", "env": own}))
    assert value_of(second["id"]) == ("bobs", "bob")
    assert Job.objects.count() == 2


@pytest.fixture
def trained(api, alice, body, pool, team):
    """A job of alice whose command runs a script on a volume that all of the team may read."""
    env = [{"name": "KEY", "value": SECRET, "private": True}, {"name": "A", "value": "1"}]
    mounts = [{"volume": make_volume(pool.zone, team).pk, "mount_path": "/mnt/code"}]
    sent = body | {"command": "python /mnt/code/train.py", "env": env, "mounts": mounts}
    return made(api(alice).post(JOBS, sent))["id"]


LOADERS = ("BASH_ENV", "PYTHONPATH", "LD_PRELOAD", "PATH")


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize("private", [False, True])
def test_no_variable_puts_another_program_in_its_place(api, bob, trained, name, private):
    copy = api(bob).get(f"{JOBS}{trained}/clone/").json()
    more = {"name": name, "value": "/mnt/mine", "private": private}
    answer = api(bob).post(JOBS, copy | {"env": [*copy["env"], more]})
    assert codes(answer) == [("private_enter_anew", "env.0.from_job")]
    assert Job.objects.count() == 1


def test_no_volume_of_ones_own_is_put_where_the_script_lies(api, bob, trained, pool, team):
    copy = api(bob).get(f"{JOBS}{trained}/clone/").json()
    mine = {"volume": make_volume(pool.zone, team).pk, "mount_path": "/mnt/code"}
    for mounts in ([mine], [*copy["mounts"], mine | {"mount_path": "/mnt/mine"}], []):
        answer = api(bob).post(JOBS, copy | {"mounts": mounts})
        assert codes(answer) == [("private_enter_anew", "env.0.from_job")]
    assert codes(api(bob).post(JOBS, copy | {"framework": "pytorch_ddp"})) == [
        ("private_enter_anew", "env.0.from_job")
    ]


def test_nor_by_the_form(client, bob, trained, pool, team):
    mine = make_volume(pool.zone, team)
    client.force_login(bob)
    fields = Page(client.get(f"{CREATE}?from={trained}")).fields()
    attacks = [{"mount_volume": [str(mine.pk), *fields["mount_volume"][1:]]}] + [
        {
            "env_name": ["KEY", "A", name],
            "env_value": ["", "1", "/mnt/mine"],
            "env_from": [trained, "", ""],
        }
        for name in LOADERS
    ]
    for attack in attacks:
        answer = client.post(CREATE, fields | attack)
        assert answer.status_code == 422
        refused = Page(answer).all("div", class_="ty-variable")[0].text
        assert "enter a value of your own" in refused.lower()
    assert Job.objects.count() == 1
    assert client.post(CREATE, fields).status_code == 303


def test_what_does_not_run_anything_else_may_change(api, bob, trained, pool, team):
    copy = api(bob).get(f"{JOBS}{trained}/clone/").json()
    near = make_pool(team, zone=pool.zone)
    changes = {
        "pool": near.pk,
        "spec": worker_spec(near, 2).pk,
        "worker_count": 2,
        "name": "bob's",
        "tags": ["x"],
        "description": "again",
        "priority": "low",
        "auto_restart": True,
        "hang_detection": True,
        "max_runtime_minutes": 60,
        "env": copy["env"][::-1],
    }
    assert value_of(made(api(bob).post(JOBS, copy | changes))["id"]) == (SECRET, "alice")


def test_in_another_zone_the_same_paths_may_hold_something_else(api, bob, team, pool, body, alice):
    far = make_pool(team, zone=make_zone())
    image = make_image(pool.zone, far.zone).pk
    env = [{"name": "KEY", "value": SECRET, "private": True}]
    first = made(api(alice).post(JOBS, body | {"image": image, "env": env}))["id"]
    copy = api(bob).get(f"{JOBS}{first}/clone/").json()
    moved = copy | {"pool": far.pk, "spec": worker_spec(far, 1).pk}
    assert codes(api(bob).post(JOBS, moved)) == [("private_enter_anew", "env.0.from_job")]


def test_a_value_does_not_follow_into_another_team(api, alice, bob, first, pool):
    other = make_team()
    pool.grants.create(team=other)
    for user in (alice, bob):
        other.memberships.create(user=user)
    copy = api(bob).get(f"{JOBS}{first}/clone/").json() | {"team": other.pk}
    assert codes(api(bob).post(JOBS, copy)) == [("private_enter_anew", "env.0.from_job")]
    assert value_of(made(api(alice).post(JOBS, copy))["id"]) == (SECRET, "alice")


def test_a_job_that_one_does_not_see_has_no_values(api, first, pool, body):
    other = make_team()
    pool.grants.create(team=other)
    stranger = api(make_user(other))
    for job in (first, JOB, "jo-", "", "\0", "x" * 5000):
        env = [{"name": "KEY", "private": True, "from_job": job}]
        assert codes(stranger.post(JOBS, body | {"env": env})) == [
            ("private_source_unknown", "env.0.from_job")
        ]


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ({"name": "K", "private": True}, ("required", "env.0.value")),
        ({"name": "K"}, ("required", "env.0.value")),
        (
            {"name": "K", "private": True, "value": "x", "from_job": JOB},
            ("excluded_by_value", "env.0.from_job"),
        ),
        ({"name": "K", "private": True, "value": None}, ("null", "env.0.value")),
        ({"name": "K", "private": True, "from_job": None}, ("null", "env.0.from_job")),
        ({"name": "K", "private": True, "from_job": 7}, ("invalid", "env.0.from_job")),
        ({"name": "A", "from_job": JOB}, ("private_source_in_clear", "env.0.from_job")),
    ],
)
def test_what_no_variable_can_be(api, alice, body, variable, expected):
    answer = api(alice).post(JOBS, body | {"env": [variable]})
    assert codes(answer) == [expected]
    assert not Job.objects.exists()


def test_sources_cost_one_query_and_only_where_there_are_some(
    api, alice, first, body, django_assert_max_num_queries
):
    with_source = api(alice).get(f"{JOBS}{first}/clone/").json()
    counts = []
    for env in ([], with_source["env"]):
        with django_assert_max_num_queries(40) as seen:
            assert api(alice).post(f"{JOBS}?dry_run=true", with_source | {"env": env}).json()["valid"]
        counts.append(len(seen.captured_queries))
    assert counts[1] == counts[0] + 1


@pytest.mark.parametrize("value", ["********", "••••••", "", "…"])
def test_what_looks_like_a_mask_is_a_value(api, alice, body, value):
    env = [{"name": "KEY", "value": value, "private": True}]
    key = made(api(alice).post(JOBS, body | {"env": env}))["id"]
    assert value_of(key) == (value, "alice")
    again = made(api(alice).post(JOBS, api(alice).get(f"{JOBS}{key}/clone/").json()))
    assert value_of(again["id"]) == (value, "alice")


def test_a_repetition_tells_a_private_value_to_its_owner_alone(api, bob, first):
    copy = api(bob).get(f"{JOBS}{first}/clone/").json()
    answers = [api(bob).post(JOBS, copy, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert answers[1]["Idempotent-Replayed"] == "true"
    assert answers[0].json()["env"][0]["value"] is None
    assert answers[0].json() == answers[1].json()


def everything_stored() -> str:
    """Every row of every table, as text."""
    rows = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            rows += [str([bytes(v) if isinstance(v, memoryview) else v for v in row]) for row in cursor]
    return "\n".join(rows)


def test_no_page_no_answer_and_no_row_tells_it_to_others(api, alice, bob, pool, body, admin_client):
    with (
        mock.patch("celery.app.task.Task.apply_async") as sent,
        mock.patch("celery.canvas.Signature.apply_async") as hinted,
    ):
        env = [{"name": "API_KEY", "value": SECRET, "private": True}]
        key = made(api(alice).post(JOBS, body | {"env": env}, headers={"Idempotency-Key": "k"}))["id"]
        browser = Client()
        browser.force_login(alice)
        page = Page(browser.get(f"{CREATE}?from={key}"))
        assert browser.post(CREATE, page.fields()).status_code == 303  # and once more, by the form
        queue_cycle(pool_id=pool.pk)
    assert SECRET not in str([*sent.mock_calls, *hinted.mock_calls])
    assert Job.objects.count() == 2

    mate, theirs = Client(), api(bob)
    mate.force_login(bob)
    seen = {}
    for job in Job.objects.all():
        parts = ["", "live/", "progress/", "workers/0/log/"]
        seen |= {p: mate.get(p) for p in [f"/jobs/{job.key}/{part}" for part in parts]}
        seen |= {
            p: theirs.get(p)
            for p in [f"{JOBS}{job.key}/{part}" for part in ("", "events/", "workers/", "clone/")]
        }
        change = f"/admin/jobs/job/{job.pk}/change/"
        seen |= {p: admin_client.get(p) for p in (change, f"/admin/jobs/job/{job.pk}/history/")}
        seen[f"from {job.key}"] = mate.get(f"{CREATE}?from={job.key}")
    for path in ("/", "/jobs/", CREATE, f"/pools/{pool.pk}/", f"/jobs/pools/{pool.pk}/queue/"):
        seen[path] = mate.get(path)
    seen["list"] = theirs.get(JOBS)
    copy = theirs.get(f"{JOBS}{key}/clone/").json()
    seen["copy"] = theirs.post(JOBS, copy)
    seen["dry run"] = theirs.post(f"{JOBS}?dry_run=true", copy)

    assert {path: a.status_code for path, a in seen.items() if a.status_code not in (200, 201)} == {}
    assert [path for path, answer in seen.items() if SECRET in answer.content.decode()] == []
    assert SECRET not in everything_stored()
    assert IdempotencyKey.objects.count() == 2
    assert not LogEntry.objects.exists()
    assert SECRET not in json.dumps(list(Job.objects.values_list("request", "frozen", "findings")))
