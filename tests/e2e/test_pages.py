"""The form in a real browser: numbers that follow the choices, late answers, double clicks, typing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Page, Route, expect

from jobs.models import Job
from jobs.scheduling import queue_cycle
from pools.models import Pool
from teams.models import User
from tests.e2e.browser import in_browser, signed_in_page
from tests.factories import (
    make_image,
    make_job,
    make_pool,
    make_team,
    make_user,
    make_volume,
    make_zone,
    worker_spec,
)

pytestmark = in_browser


@pytest.fixture
def pool() -> Pool:
    zone = make_zone(public_data="/srv/public")
    pool = make_pool(team := make_team(), zone=zone, network="roce")
    make_image(zone)
    make_volume(zone, team)
    return pool


@pytest.fixture
def alice(pool: Pool) -> User:
    grant = pool.grants.get()
    return make_user(grant.team)


@pytest.fixture
def page(browser: Browser, live_server: Any, alice: User) -> Iterator[Page]:
    """The create page in the browser of somebody who has just signed in."""
    with signed_in_page(browser, live_server.url, alice, "/jobs/create/") as page:
        yield page


def choose(page: Page, pool: Pool, gpus: int) -> None:
    page.check(f"input[name=spec][value='{worker_spec(pool, gpus).pk}']")


def test_from_signing_in_to_the_job(page: Page, pool: Pool) -> None:
    expect(page.locator("#id_rdma")).to_be_disabled()
    choose(page, pool, 8)
    expect(page.locator("#total-gpus")).to_have_text("8")
    expect(page.locator("#startable")).to_have_text("4")
    expect(page.locator("#id_rdma")).to_be_enabled()
    page.fill("#id_worker_count", "3")
    expect(page.locator("#total-gpus")).to_have_text("24")
    expect(page.locator("#promise")).to_contain_text("24 GPUs, start at once")
    page.click("[data-add-row=env-rows]")
    page.locator("[name=env_name]").nth(1).fill("KEY")
    page.locator("[name=env_value]").nth(1).fill("x")
    page.locator("#id_command").press_sequentially("cd /tmp\npwd")
    page.fill("#id_name", "first")
    page.click("aside .btn-primary")

    page.wait_for_url("**/jobs/jo-*/")
    expect(page.get_by_text("Created.")).to_be_visible()
    expect(page.locator("#live-head .ty-state")).to_have_text("Queued")
    expect(page.locator("#log")).to_contain_text("The log is followed")
    assert Job.objects.get().request["command"] == "cd /tmp\npwd"
    page.click("#stop")
    page.click("#stop-yes")
    expect(page.locator("#live-head .ty-state")).to_have_text("Stopped")


def test_a_late_answer_never_replaces_a_newer_one(page: Page, pool: Pool) -> None:
    slow = f"spec={worker_spec(pool, 1).pk}&"
    held: list[Route] = []

    def hold(route: Route) -> None:
        if slow in (route.request.post_data or "") + "&":
            held.append(route)
        else:
            route.continue_()

    page.route("**/jobs/estimate/", hold)
    with page.expect_request("**/jobs/estimate/"):
        choose(page, pool, 1)
    choose(page, pool, 8)
    expect(page.locator("#startable")).to_have_text("4")
    for route in held:
        with contextlib.suppress(Error):  # given up by the page
            route.fulfill(body='<section id="summary"><b id="startable">32</b></section>')
    page.wait_for_timeout(500)
    expect(page.locator("#startable")).to_have_text("4")
    expect(page.locator("#total-gpus")).to_have_text("8")
    assert held


def test_a_double_click_makes_one_job(page: Page, pool: Pool) -> None:
    choose(page, pool, 2)
    page.fill("#id_command", "true")
    page.fill("#id_name", "once")
    page.dblclick("aside .btn-primary")
    page.wait_for_url("**/jobs/jo-*/")
    page.wait_for_timeout(500)
    assert Job.objects.count() == 1
    page.reload()
    page.go_back()
    assert Job.objects.count() == 1


def test_typing_is_never_disturbed(page: Page, pool: Pool) -> None:
    choose(page, pool, 1)
    count = page.locator("#id_worker_count")
    count.fill("")
    for digit in "12":
        with page.expect_response("**/jobs/estimate/"):
            count.press_sequentially(digit)
    expect(count).to_be_focused()
    expect(count).to_have_value("12")
    expect(page.locator("#total-gpus")).to_have_text("12")
    with page.expect_response("**/jobs/estimate/"):  # of the clock
        page.locator("#id_name").press_sequentially("half a na")
    expect(page.locator("#id_name")).to_be_focused()
    expect(page.locator("#id_name")).to_have_value("half a na")


def test_nothing_is_asked_while_an_input_method_composes(page: Page, pool: Pool) -> None:
    choose(page, pool, 1)
    expect(page.locator("#total-gpus")).to_have_text("1")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "estimate" in request.url else None)
    command = page.locator("#id_command")
    command.dispatch_event("compositionstart")
    command.press_sequentially("xunlian")
    page.wait_for_timeout(1000)
    assert asked == []
    with page.expect_request("**/jobs/estimate/"):
        command.dispatch_event("compositionend")


def test_an_error_goes_when_its_field_is_changed(page: Page, pool: Pool) -> None:
    page.click("aside .btn-primary")
    expect(page.locator("#spec-part .invalid-feedback")).to_contain_text("This field is required.")
    expect(page.locator("#summary")).to_contain_text("Job name")
    choose(page, pool, 1)
    expect(page.locator("#spec-part .invalid-feedback")).to_have_count(0)
    with page.expect_response("**/jobs/estimate/"):
        page.fill("#id_command", "true")
    page.fill("#id_name", "named")
    expect(page.locator("#summary")).not_to_contain_text("Still to fill in")


def test_a_job_fits_on_a_phone(page: Page, pool: Pool, alice: User) -> None:
    job = make_job(alice, pool, gpus=8, workers=2)
    queue_cycle(pool.pk)
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"/jobs/{job.key}/")
    links = page.locator(".ty-workers a")
    expect(links).to_have_count(2)
    for link in links.all():
        box = link.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
