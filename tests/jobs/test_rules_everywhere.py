"""Every rule refuses by REST with field and code, and the page says the same sentence, in both languages."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from alerts.models import Channel
from images.models import Image
from jobs.forms.alerts import alert_values
from jobs.models import Job
from jobs.spec import EnvVar, alerts_of
from jobs.texts import FINDINGS
from pools.models import Pool
from storage.models import Volume
from teams.models import User
from tests.factories import (
    make_channel,
    make_flavor,
    make_image,
    make_job,
    make_pool,
    make_team,
    make_user,
    make_volume,
    make_zone,
    worker_spec,
)
from tests.jobs.pages import CREATE

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = ("zh-CN", "en")
NOBODY = 10**6  # an id that no row has


@dataclass
class World:
    """A team with pools of several kinds in one zone, and things of another zone and another team."""

    user: User
    pool: Pool
    roce: Pool
    two: Pool
    bare: Pool
    small_quota: Pool
    image: Image
    volume: Volume
    second: Volume
    image_for_inference: Image
    far_image: Image
    unrunnable: Image
    far_volume: Volume
    foreign_pool: Pool
    theirs: Job
    channel: Channel
    far_channel: Channel  # of another team of the user

    def alert(self, **changed: Any) -> dict[str, Any]:
        return {"events": ["failed"], "channel": self.channel.pk, "minutes": None} | changed

    def body(self, pool: Pool, gpus: int = 1, **changed: Any) -> dict[str, Any]:
        """A request without a fault in the pool, with the changes."""
        spec = (
            {}
            if changed.get("custom_gpus") is not None
            else {"spec": worker_spec(pool, gpus).pk, "worker_count": 1}
        )
        whole = {
            "team": pool.grants.earliest("pk").team_id,
            "pool": pool.pk,
            "image": self.image.pk,
            "command": "echo hello",
            "name": "a job",
            **spec,
        }
        return whole | changed


@pytest.fixture
def world(db: None) -> World:
    team, other = make_team(), make_team()
    zone, far = make_zone(), make_zone()
    user = make_user(team, second := make_team())
    bare = make_pool(team, zone=zone, nodes=0)
    bare.flavors.all().delete()
    two = make_pool(team, zone=zone, nodes=1)
    make_flavor(two, nodes=1)
    shared = make_pool(team, zone=zone, nodes=1)
    image = make_image(zone)
    colleague = make_user(team)
    theirs = make_job(colleague, shared, env=[EnvVar("KEY", "sekret", private=True)])
    return World(
        user=user,
        pool=shared,
        roce=make_pool(team, zone=zone, nodes=1, network="roce"),
        two=two,
        bare=bare,
        small_quota=make_pool(team, zone=zone, nodes=1, max_gpus=4),
        image=image,
        volume=make_volume(zone, team),
        second=make_volume(zone, team),
        image_for_inference=make_image(zone, services=["inference"]),
        far_image=make_image(far, reference="registry.example/far:1"),
        unrunnable=make_image(zone, reference="registry.example/near:1"),
        far_volume=make_volume(far, team),
        foreign_pool=make_pool(other, zone=zone, nodes=1),
        theirs=theirs,
        channel=make_channel(user),
        far_channel=make_channel(user, second),
    )


Make = Callable[[World], dict[str, Any]]


def mounted(*paths: str) -> Make:
    return lambda w: w.body(
        w.pool,
        mounts=[
            {"volume": volume.pk, "mount_path": path}
            for volume, path in zip((w.volume, w.second), paths, strict=False)
        ],
    )


def with_env(*pairs: tuple[str, str]) -> Make:
    return lambda w: w.body(w.pool, env=[{"name": name, "value": value} for name, value in pairs])


def with_lost_source(world: World) -> dict[str, Any]:
    world.theirs.private_values.update(ciphertext=b"nothing")
    return with_source()(world)


def with_source(**variable: Any) -> Make:
    return lambda w: w.body(
        w.pool,
        command="echo other",
        env=[{"name": "KEY", "private": True, "from_job": w.theirs.key} | variable],
    )


def told(**alert: Any) -> Make:
    return lambda w: w.body(w.pool, alerts=[w.alert(**alert)])


def changed(pool: str = "pool", gpus: int = 1, **fields: Any) -> Make:
    return lambda w: w.body(getattr(w, pool), gpus, **fields)


CASES: list[tuple[Make, str, str]] = [
    (lambda w: w.body(w.pool) | {"pool": None}, "pool", "required"),
    (lambda w: w.body(w.pool) | {"team": NOBODY}, "team", "team_unknown"),
    (lambda w: w.body(w.pool) | {"pool": NOBODY}, "pool", "pool_unknown"),
    (lambda w: w.body(w.pool) | {"pool": w.foreign_pool.pk}, "pool", "pool_unknown"),
    (changed(spec=None), "spec", "required"),
    (lambda w: w.body(w.pool) | {"spec": worker_spec(w.roce, 1).pk}, "spec", "spec_unknown"),
    (changed(worker_count=0), "worker_count", "out_of_range"),
    (changed(worker_count=1025), "worker_count", "out_of_range"),
    (changed(worker_count=1024), "worker_count", "never_fits"),
    (changed(pool="small_quota", worker_count=5), "worker_count", "over_quota"),
    (changed(custom_gpus=0), "custom_gpus", "out_of_range"),
    (changed(custom_gpus=8193), "custom_gpus", "out_of_range"),
    (changed(custom_gpus=40), "custom_gpus", "never_fits"),
    (changed(pool="small_quota", custom_gpus=5), "custom_gpus", "over_quota"),
    (changed(pool="two", custom_gpus=4), "flavor", "required"),
    (changed(pool="two", custom_gpus=4, flavor=NOBODY), "flavor", "flavor_unknown"),
    (changed(pool="bare", custom_gpus=4), "flavor", "pool_without_nodes"),
    (changed(gpus=8, rdma=True), "rdma", "rdma_needs_network"),
    (changed(pool="roce", gpus=4, rdma=True), "rdma", "rdma_needs_full_workers"),
    (changed(pool="roce", custom_gpus=12, rdma=True), "rdma", "rdma_needs_full_workers"),
    (changed(image=None), "image", "required"),
    (changed(image=NOBODY), "image", "image_unknown"),
    (lambda w: w.body(w.pool, image=w.image_for_inference.pk), "image", "image_not_for_jobs"),
    (lambda w: w.body(w.pool, image=w.far_image.pk), "image", "image_in_other_zone"),
    (lambda w: w.body(w.pool, image=w.unrunnable.pk), "image", "image_not_runnable"),
    (changed(framework="horovod"), "framework", "invalid_choice"),
    (changed(auto_restart=True, max_restarts=0), "max_restarts", "out_of_range"),
    (changed(auto_restart=True, max_restarts=11), "max_restarts", "out_of_range"),
    (changed(hang_detection=True, hang_timeout_seconds=29), "hang_timeout_seconds", "out_of_range"),
    (changed(hang_detection=True, hang_action="explode"), "hang_action", "invalid_choice"),
    (changed(hang_detection=True, hang_action="restart"), "hang_action", "hang_restart_needs_auto_restart"),
    (changed(command=" \n"), "command", "required"),
    (changed(command="x" * (256 * 2**10 + 1)), "command", "too_long"),
    (changed(command="a\0b"), "command", "nul_character"),
    (with_env(("1A", "x")), "env.0.name", "env_name"),
    (with_env(("A", "1"), ("B" * 256, "x")), "env.1.name", "too_long"),
    (with_env(("TRAINYARD_X", "1")), "env.0.name", "env_injected"),
    (
        lambda w: w.body(w.pool, framework="pytorch_ddp", env=[{"name": "RANK", "value": "0"}]),
        "env.0.name",
        "env_injected",
    ),
    (with_env(("A", "1"), ("A", "2")), "env.1.name", "env_duplicate"),
    (with_env(("A", "x" * (32 * 2**10 + 1))), "env.0.value", "too_long"),
    (with_env(("A", "a\0b")), "env.0.value", "nul_character"),
    (with_env(*((f"A{i}", "x") for i in range(201))), "env", "too_many"),
    (with_env(*((f"A{i}", "x" * 30000) for i in range(9))), "env", "too_long"),
    (with_source(private=False), "env.0.from_job", "private_source_in_clear"),
    (with_source(name="OTHER"), "env.0.from_job", "private_source_unknown"),
    (with_source(), "env.0.from_job", "private_enter_anew"),
    (with_lost_source, "env.0.from_job", "private_source_unreadable"),
    (changed(public_data=True), "public_data", "public_data_not_offered"),
    (changed(mounts=[{"volume": NOBODY, "mount_path": "/mnt/x"}]), "mounts.0.volume", "volume_unknown"),
    (
        lambda w: w.body(w.pool, mounts=[{"volume": w.far_volume.pk, "mount_path": "/mnt/x"}]),
        "mounts.0.volume",
        "volume_in_other_zone",
    ),
    (mounted("mnt/x"), "mounts.0.mount_path", "mount_path_absolute"),
    (mounted("/mnt/../etc"), "mounts.0.mount_path", "mount_path_dots"),
    (mounted("/"), "mounts.0.mount_path", "mount_path_reserved"),
    (mounted("/etc"), "mounts.0.mount_path", "mount_path_reserved"),
    (mounted("/infini-data"), "mounts.0.mount_path", "mount_path_reserved"),
    (mounted("/mnt/public", "/mnt/public/"), "mounts.1.mount_path", "mount_path_duplicate"),
    (mounted("/mnt/a", "/mnt/a/b"), "mounts.1.mount_path", "mount_path_nested"),
    (mounted("/mnt/" + "x" * 256), "mounts.0.mount_path", "path_too_long"),
    (
        lambda w: w.body(
            w.pool, mounts=[{"volume": w.volume.pk, "mount_path": f"/mnt/{i}"} for i in range(65)]
        ),
        "mounts",
        "too_many",
    ),
    (
        lambda w: w.body(w.pool, alerts=[w.alert(), w.alert(events=["succeeded"]), w.alert()]),
        "alerts.2.events",
        "alert_twice",
    ),
    (changed(name="a\u202eb"), "name", "turning_character"),
    (changed(name="\u3164"), "name", "required"),
    (told(channel=NOBODY), "alerts.0.channel", "channel_unknown"),
    (lambda w: told(channel=w.far_channel.pk)(w), "alerts.0.channel", "channel_unknown"),
    (told(events=["failed", "suceeded"]), "alerts.0.events", "event_unknown"),
    (told(events=["queued_too_long"], minutes=0), "alerts.0.minutes", "out_of_range"),
    (told(events=["running_too_long"], minutes=129_601), "alerts.0.minutes", "out_of_range"),
    (lambda w: w.body(w.pool, alerts=[w.alert()] * 21), "alerts", "too_many"),
    (changed(name=" "), "name", "required"),
    (changed(name="x" * 129), "name", "too_long"),
    (changed(description="x" * 2001), "description", "too_long"),
    (changed(description="a\0b"), "description", "nul_character"),
    (changed(tags=["x" * 64]), "tags.0", "too_long"),
    (changed(tags=["a", "b\tc"]), "tags.1", "control_character"),
    (changed(tags=[f"t{i}" for i in range(21)]), "tags", "too_many"),
    (changed(priority="urgent"), "priority", "invalid_choice"),
    (changed(priority="high"), "priority", "priority_needs_right"),
    (changed(start_policy="later"), "start_policy", "invalid_choice"),
    (changed(max_runtime_minutes=0), "max_runtime_minutes", "out_of_range"),
    (changed(max_queue_minutes=10**7), "max_queue_minutes", "out_of_range"),
    (changed(stop_grace_seconds=3601), "stop_grace_seconds", "out_of_range"),
    (changed(keep_after_failure_minutes=1441), "keep_after_failure_minutes", "out_of_range"),
    (changed(keep_after_failure_minutes=-1), "keep_after_failure_minutes", "out_of_range"),
]
REST_CASES: list[tuple[Make, str, str]] = [  # the form has no control that sends these
    (told(events=[]), "alerts.0.events", "required"),
    (told(events=["queued_too_long"]), "alerts.0.minutes", "required"),  # the form has words of its own
    (told(events=["failed"] * 14), "alerts.0.events", "too_many"),
    (
        told(events=["queued_too_long", "deploying_too_long"], minutes=5),
        "alerts.0.events",
        "two_timed_events",
    ),
    (told(minutes=5), "alerts.0.minutes", "only_with_timed_event"),
    (changed(job_type="inference"), "job_type", "invalid_choice"),
    (changed(resource_type="spot"), "resource_type", "invalid_choice"),
    (changed(flavor=1), "flavor", "only_with_custom_gpus"),
    (lambda w: w.body(w.pool) | {"custom_gpus": 4}, "spec", "excluded_by_custom_gpus"),
    (changed(custom_gpus=4, worker_count=1), "worker_count", "excluded_by_custom_gpus"),
    (changed(name="a\nb"), "name", "control_character"),
    (changed(tags=[" "]), "tags.0", "required"),
]


def named(case: tuple[Make, str, str]) -> str:
    return f"{case[1]}-{case[2]}"


def sent_form(body: dict[str, Any]) -> dict[str, Any]:
    """The same request as the form sends it."""
    switches = ("rdma", "public_data", "env_check", "auto_restart", "hang_detection")
    fields = {name: "" if value is None else value for name, value in body.items() if name not in switches}
    fields |= {name: "on" for name in switches if body.get(name)}
    if body.get("custom_gpus") is not None:
        fields["custom"] = "on"
    variables, mounts = body.get("env", []), body.get("mounts", [])
    return fields | {
        "shown_team": body["team"],
        "env": [],
        "env_name": [v["name"] for v in variables],
        "env_value": [v.get("value", "") for v in variables],
        "env_from": [v.get("from_job", "") for v in variables],
        "env_private": [str(i) for i, v in enumerate(variables) if v.get("private")],
        **({"alerts": [], **alert_values(alerts_of(body["alerts"]))} if "alerts" in body else {}),
        "mounts": [],
        "mount_volume": [str(m["volume"]) for m in mounts],
        "mount_path": [m["mount_path"] for m in mounts],
        "tags": ", ".join(body.get("tags", [])),
    }


def refusals(client: Client, body: dict[str, Any], language: str) -> dict[tuple[str, str], str]:
    answer = client.post(
        "/api/v1/jobs/", body, content_type="application/json", headers={"accept-language": language}
    )
    assert answer.status_code == 400, answer.content
    return {(error["attr"], error["code"]): error["detail"] for error in answer.json()["errors"]}


@pytest.mark.parametrize("case", [*CASES, *REST_CASES], ids=named)
def test_rest_names_the_field_and_the_code_in_the_readers_language(
    client: Client, world: World, case: tuple[Make, str, str]
) -> None:
    make, field, code = case
    client.force_login(world.user)
    body, before = make(world), Job.objects.count()
    said = {refusals(client, body, language)[field, code] for language in LANGUAGES}
    assert len(said) == len(LANGUAGES)  # no language stands in for the other
    dry = client.post("/api/v1/jobs/?dry_run=true", body, content_type="application/json").json()
    assert not dry["valid"]
    assert (field, code) in {(f["field"], f["code"]) for f in dry["findings"] if f["level"] == "error"}
    assert Job.objects.count() == before


@pytest.mark.parametrize("case", CASES, ids=named)
def test_the_page_says_the_same_sentence(client: Client, world: World, case: tuple[Make, str, str]) -> None:
    make, field, code = case
    client.force_login(world.user)
    body, before = make(world), Job.objects.count()
    for language in LANGUAGES:
        sentence = refusals(client, body, language)[field, code]
        drawn_for = "" if field == "pool" else body["pool"]
        answer = client.post(
            CREATE, sent_form(body) | {"shown_pool": drawn_for}, headers={"accept-language": language}
        )
        assert answer.status_code == 422
        assert sentence in " ".join(unescape(answer.content.decode()).split())
    assert Job.objects.count() == before


def test_every_refusal_that_there_is_was_tried() -> None:
    assert refusals_of_the_rules() <= {code for _make, _field, code in [*CASES, *REST_CASES]}


def refusals_of_the_rules() -> set[str]:
    """The codes with which `jobs/rules` and `jobs/estimate.py` make errors, read from their source."""
    found = {"too_long"}
    for path in [*(ROOT / "jobs/rules").glob("*.py"), ROOT / "jobs/estimate.py"]:
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Finding":
                inside = list(ast.walk(call))
                milder = any(getattr(node, "attr", "") in ("HINT", "WARNING") for node in inside)
                words = {node.value for node in ast.walk(call.args[0]) if isinstance(node, ast.Constant)}
                found |= set() if milder else words & set(FINDINGS)
    return found
