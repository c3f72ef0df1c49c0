"""Every field of the create form filled in: the stored request is what was typed, its clone what was sent."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Browser, Page, expect

from jobs.models import Job
from jobs.private import private_read
from jobs.spec import JobSpec
from pools.models import Pool
from storage.models import Volume
from teams.models import Team, User
from tests.e2e.browser import in_browser, signed_in_page
from tests.factories import (
    make_channel,
    make_flavor,
    make_image,
    make_pool,
    make_team,
    make_user,
    make_volume,
    make_zone,
    worker_spec,
)

pytestmark = [*in_browser, pytest.mark.slow, pytest.mark.usefixtures("any_image")]
CREATE = ".ty-confirm .btn-primary"
COMMAND = """set -euo pipefail
cd /mnt/public/项目
exec torchrun --nnodes=$WORLD_SIZE --nproc_per_node=8 --node_rank=$RANK \\
  --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT train.py --resume"""
VARIABLES = [("RUN_ID", "exp-001", False), ("WORDS", 'a;b "c"\nd', False), ("API_KEY", "sekret-4711", True)]


@dataclasses.dataclass
class World:
    team: Team
    pool: Pool
    two_flavors: Pool
    image: int
    data: Volume
    out: Volume
    channel: int


@pytest.fixture
def world() -> World:
    team, other = make_team("vision"), make_team("audio")
    zone = make_zone(public_data="/srv/public")
    make_pool(other, zone=zone)
    pool = make_pool(team, zone=zone, network="roce")
    two = make_pool(team, zone=zone)
    make_flavor(two)
    make_image(zone, reference="plain:1")
    return World(
        team=team,
        pool=pool,
        two_flavors=two,
        image=make_image(zone, reference="pytorch:2.4-cu124").pk,
        data=make_volume(zone, team, suggested=False, default_mount_path="/mnt/data"),
        out=make_volume(zone, team, suggested=False, default_mount_path="/mnt/public"),
        channel=make_channel(make_user(team, admin=True), team).pk,
    )


@pytest.fixture
def alice(world: World) -> User:
    return make_user(Team.objects.get(name="audio"), world.team, name="alice", high=True)


@pytest.fixture
def page(browser: Browser, live_server: Any, alice: User) -> Iterator[Page]:
    with signed_in_page(browser, live_server.url, alice, "/jobs/create/") as page:
        yield page


def choose(page: Page, field: str, value: object) -> None:
    """Chooses what brings other choices with it, and waits for these."""
    with page.expect_response("**/jobs/estimate/"):
        page.select_option(f"#id_{field}", str(value))


def fill_environment(page: Page, world: World) -> None:
    page.click("#id_image")
    page.fill("#id_image", "pytorch")
    page.keyboard.press("Enter")
    page.check("[name=framework][value=pytorch_ddp]")
    page.check("#id_env_check")
    page.check("#id_auto_restart")
    page.fill("#id_max_restarts", "3")
    page.check("#id_hang_detection")
    page.fill("#id_hang_timeout_seconds", "600")
    page.select_option("#id_hang_action", "restart")
    page.fill("#id_command", COMMAND)
    variables = [
        ("RUN_ID", "exp-001", False),
        ("WORDS", 'a;b "c"\nd', False),
        ("API_KEY", "sekret-4711", True),
    ]
    for number, (name, value, private) in enumerate(variables):
        if number:
            page.click("[data-add-row=env-rows]")
        page.locator("[name=env_name]").nth(number).fill(name)
        page.locator("[name=env_value]").nth(number).fill(value)
        page.locator("[name=env_private]").nth(number).set_checked(private)
    page.check("#id_public_data")
    for number, (volume, path) in enumerate([(world.data, "/mnt/data set/汉"), (world.out, "/mnt/public")]):
        if number:
            page.click("[data-add-row=mount-rows]")
        page.locator("[name=mount_volume]").nth(number).select_option(str(volume.pk))
        page.locator("[name=mount_path]").nth(number).fill(path)


def fill_basics(page: Page) -> None:
    page.fill("#id_name", "llm-sft-v3 训练")
    page.fill("#id_description", "two\nlines")
    page.fill("#id_tags", "sft, 7b，夜间")
    if not page.locator("#id_priority").is_visible():
        page.click("#section-advanced > summary")
    page.select_option("#id_priority", "high")
    page.select_option("#id_start_policy", "now")
    page.fill("#id_max_queue_minutes", "90")
    page.fill("#id_max_runtime_minutes", "600")
    page.fill("#id_stop_grace_seconds", "45")
    page.fill("#id_keep_after_failure_minutes", "120")


def fill_alerts(page: Page, world: World) -> None:
    if not page.locator("[name=alert_channel]").first.is_visible():
        page.click("#section-alerts > summary")
    row = page.locator("#alert-rows [data-row]").first
    for code in ("failed", "hang"):
        row.locator(f"[name=alert_event][value='0.{code}']").check()
    row.locator("[name=alert_timed]").select_option("queued_too_long")
    row.locator("[name=alert_minutes]").fill("30")
    row.locator("[name=alert_channel]").select_option(str(world.channel))


def created(page: Page) -> Job:
    page.click(CREATE)
    page.wait_for_url("**/jobs/jo-*/")
    return Job.objects.latest("pk")


def body_of(world: World, **changed: Any) -> dict[str, Any]:
    """What a REST client would send for the same."""
    return {
        "job_type": "training",
        "resource_type": "prepaid",
        "team": world.team.pk,
        "pool": world.pool.pk,
        "spec": worker_spec(world.pool, 8).pk,
        "worker_count": 3,
        "custom_gpus": None,
        "flavor": None,
        "rdma": True,
        "image": world.image,
        "framework": "pytorch_ddp",
        "env_check": True,
        "auto_restart": True,
        "max_restarts": 3,
        "hang_detection": True,
        "hang_timeout_seconds": 600,
        "hang_action": "restart",
        "command": COMMAND,
        "env": [{"name": name, "value": value, "private": private} for name, value, private in VARIABLES],
        "public_data": True,
        "mounts": [
            {"volume": world.data.pk, "mount_path": "/mnt/data set/汉"},
            {"volume": world.out.pk, "mount_path": "/mnt/public"},
        ],
        "alerts": [
            {"events": ["failed", "hang", "queued_too_long"], "channel": world.channel, "minutes": 30}
        ],
        "name": "llm-sft-v3 训练",
        "description": "two\nlines",
        "tags": ["sft", "7b", "夜间"],
        "priority": "high",
        "max_runtime_minutes": 600,
        "max_queue_minutes": 90,
        "start_policy": "now",
        "stop_grace_seconds": 45,
        "keep_after_failure_minutes": 120,
    } | changed


def stored(body: dict[str, Any]) -> dict[str, Any]:
    """The same as it is kept: private values lie elsewhere."""
    env = [v | {"value": None} if v["private"] else v for v in body["env"]]
    return body | {"env": env}


def cloned(body: dict[str, Any], key: str) -> dict[str, Any]:
    env = [{"name": v["name"], "private": True, "from_job": key} if v["private"] else v for v in body["env"]]
    return body | {"env": env}


def test_the_stored_request_is_what_was_typed(page: Page, world: World) -> None:
    choose(page, "team", world.team.pk)
    choose(page, "pool", world.pool.pk)
    page.check(f"[name=spec][value='{worker_spec(world.pool, 8).pk}']", force=True)
    page.fill("#id_worker_count", "3")
    expect(page.locator("#total-gpus")).to_have_text("24")
    page.check("#id_rdma")
    fill_environment(page, world)
    fill_alerts(page, world)
    fill_basics(page)
    expect(page.locator("#summary")).to_have_attribute("data-outlook", "now")
    job = created(page)

    body = body_of(world)
    assert set(body) == {field.name for field in dataclasses.fields(JobSpec)}
    assert {name: list(v) if isinstance(v, tuple) else v for name, v in job.request.items()} == stored(body)
    assert private_read(job=job, user=job.creator) == {"API_KEY": "sekret-4711"}
    assert page.request.get(f"/api/v1/jobs/{job.key}/clone/").json() == cloned(body, job.key)


@pytest.mark.django_db
def test_a_clone_is_the_body_that_was_sent(client: Client, alice: User, world: World) -> None:
    client.force_login(alice)
    body = body_of(world)
    job = client.post("/api/v1/jobs/", body, content_type="application/json")
    assert job.status_code == 201, job.content
    key = job.json()["id"]
    assert client.get(f"/api/v1/jobs/{key}/clone/").json() == cloned(body, key)


def test_a_custom_count_in_a_pool_of_two_flavors(page: Page, world: World) -> None:
    flavor = world.two_flavors.flavors.latest("pk")
    choose(page, "team", world.team.pk)
    choose(page, "pool", world.two_flavors.pk)
    page.check("#id_custom")
    page.fill("#id_custom_gpus", "13")
    page.select_option("#id_flavor", str(flavor.pk))
    expect(page.locator("#split")).to_contain_text("8 + 5")
    page.click("#id_image")
    page.fill("#id_image", "plain")
    page.keyboard.press("Enter")
    page.fill("#id_command", "python3 train.py")
    page.fill("#id_name", "odd")
    job = created(page)
    asked = {
        name: job.request[name] for name in ("custom_gpus", "flavor", "spec", "worker_count", "pool", "rdma")
    }
    assert asked == {
        "custom_gpus": 13,
        "flavor": flavor.pk,
        "spec": None,
        "worker_count": None,
        "pool": world.two_flavors.pk,
        "rdma": False,
    }
    assert page.request.get(f"/api/v1/jobs/{job.key}/clone/").json()["custom_gpus"] == 13
