"""The form keeps its word and what was typed: verdicts, sessions that end, errors, Back, and open things."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from jobs.models import Job
from pools.models import Pool
from teams.models import User
from tests.e2e.browser import in_browser, signed_in_page
from tests.factories import (
    PASSWORD,
    make_image,
    make_job,
    make_pool,
    make_team,
    make_user,
    make_volume,
    make_zone,
    occupy,
    worker_spec,
)

pytestmark = [*in_browser, pytest.mark.slow]
CREATE = ".ty-confirm .btn-primary"


@pytest.fixture
def pool() -> Pool:
    zone = make_zone(public_data="/srv/public")
    pool = make_pool(team := make_team(), zone=zone, network="roce")
    make_image(zone)
    make_volume(zone, team)
    return pool


@pytest.fixture
def alice(pool: Pool) -> User:
    return make_user(pool.grants.get().team)


@pytest.fixture
def page(browser: Browser, live_server: Any, alice: User) -> Iterator[Page]:
    with signed_in_page(browser, live_server.url, alice, "/jobs/create/") as page:
        yield page


def fill(page: Page, pool: Pool, gpus: int = 8) -> None:
    page.check(f"input[name=spec][value='{worker_spec(pool, gpus).pk}']")
    page.fill("#id_command", "true")
    page.fill("#id_name", "a job")
    expect(page.locator("#total-gpus")).to_have_text(str(gpus))


def stop_updates(page: Page) -> None:
    page.route("**/jobs/estimate/", lambda route: route.abort())


def test_a_node_taken_between_look_and_click(page: Page, pool: Pool) -> None:
    with page.expect_response("**/jobs/estimate/"):
        fill(page, pool)
    expect(page.locator("#promise")).to_contain_text("8 GPUs, start at once")
    expect(page.locator("#summary")).not_to_contain_text("Still to fill in")
    stop_updates(page)
    occupy(pool, [8, 8, 8, 1])
    page.click(CREATE)
    expect(page.locator("#changed")).to_contain_text("Things have changed: this would now queue at place 1.")
    expect(page.locator("#promise")).to_contain_text("Will queue, place 1")
    expect(page.locator("#id_name")).to_have_value("a job")
    assert not Job.objects.exists()
    page.click(CREATE)
    page.wait_for_url("**/jobs/jo-*/")
    assert Job.objects.get().total_gpus == 8


def test_the_numbers_follow_the_world_by_themselves(page: Page, pool: Pool, alice: User) -> None:
    fill(page, pool)
    expect(page.locator("#startable")).to_have_text("4")
    occupy(pool, [8, 8, 8, 8])
    make_job(alice, pool, gpus=8)
    expect(page.locator("#startable")).to_have_text("0")
    expect(page.locator("#promise")).to_contain_text("Will queue, place 2")
    expect(page.locator("#pool-links")).to_contain_text("1 job waits")


def test_an_ended_session_keeps_what_was_typed(page: Page, pool: Pool, alice: User) -> None:
    fill(page, pool, 2)
    page.fill("#id_description", "two\nlines")
    page.locator("[name=env_name]").fill("KEY")
    page.locator("[name=env_value]").fill("sekret-4711")
    page.check("[name=env_private]")
    page.context.clear_cookies(name="sessionid")
    expect(page.locator("#signed-out")).to_be_visible()
    page.click(CREATE)
    page.fill("#id_username", alice.username)
    page.fill("#id_password", PASSWORD)
    page.click("main button")
    expect(page.get_by_text("nothing was created yet")).to_be_visible()
    expect(page.locator("#id_description")).to_have_value("two\nlines")
    expect(page.locator("[name=env_value]").first).to_have_value("sekret-4711")
    assert not Job.objects.exists()
    page.click(CREATE)
    page.wait_for_url("**/jobs/jo-*/")
    assert [v["name"] for v in Job.objects.get().request["env"]] == ["KEY"]


def test_pages_say_so_when_they_are_told_nothing_any_more(page: Page, pool: Pool, alice: User) -> None:
    make_job(alice, pool, gpus=8)
    page.goto("/jobs/")
    expect(page.locator("#offline")).to_be_hidden()
    page.context.clear_cookies(name="sessionid")
    expect(page.locator("#offline")).to_be_visible()


def test_another_person_in_the_same_browser_gets_nothing_of_the_form(
    page: Page, pool: Pool, alice: User
) -> None:
    bob = make_user(alice.memberships.get().team)
    fill(page, pool, 1)
    page.locator("[name=env_name]").fill("KEY")
    page.locator("[name=env_value]").fill("sekret-4711")
    page.check("[name=env_private]")
    page.context.clear_cookies()
    other = page.context.new_page()
    other.goto("/accounts/login/")
    other.fill("#id_username", bob.username)
    other.fill("#id_password", PASSWORD)
    other.click("main button")
    other.wait_for_url("**/")
    expect(page.locator("#signed-out")).to_be_visible()
    page.click(CREATE)
    expect(page.get_by_text("filled in by somebody else")).to_be_visible()
    expect(page.locator("[name=env_value]")).to_have_count(1)
    assert "sekret" not in page.content()
    assert not Job.objects.exists()


def test_signing_in_anew_in_another_tab_is_enough(page: Page, pool: Pool, alice: User) -> None:
    fill(page, pool, 2)
    page.context.clear_cookies()
    other = page.context.new_page()
    other.goto("/accounts/login/")
    other.fill("#id_username", alice.username)
    other.fill("#id_password", PASSWORD)
    other.click("main button")
    other.wait_for_url("**/")
    with page.expect_response("**/jobs/estimate/") as answer:
        page.fill("#id_worker_count", "3")
    assert answer.value.status == 200
    expect(page.locator("#total-gpus")).to_have_text("6")
    page.click(CREATE)
    page.wait_for_url("**/jobs/jo-*/")
    assert Job.objects.get().total_gpus == 6


@pytest.mark.parametrize("count", ["0", "-1", "1.5", "", "1000000000"])
def test_a_refused_form_shows_where_and_keeps_the_rest(page: Page, pool: Pool, count: str) -> None:
    fill(page, pool, 1)
    for number in range(3):
        page.locator("[name=env_name]").nth(number).fill(f"KEY_{number}")
        page.locator("[name=env_value]").nth(number).fill(f"value {number}")
        page.click("[data-add-row=env-rows]")
    page.locator("[name=mount_volume]").nth(1).select_option(index=1)
    page.locator("[name=mount_path]").nth(1).fill("/mnt/second")
    page.fill("#id_command", "")
    page.locator("#id_worker_count").evaluate("(e, v) => { e.type = 'text'; e.value = v; }", count)
    page.click(CREATE)
    expect(page.locator("#notes-worker_count")).to_have_text(re.compile(r"\w"))
    expect(page.locator("#notes-command")).to_contain_text("This field is required.")
    expect(page.locator("#id_worker_count")).to_be_focused()
    expect(page.locator("#id_worker_count")).to_have_attribute("aria-invalid", "true")
    names = [page.locator("[name=env_name]").nth(n).input_value() for n in range(4)]
    assert names == ["KEY_0", "KEY_1", "KEY_2", ""]
    expect(page.locator("[name=env_value]").nth(2)).to_have_value("value 2")
    expect(page.locator("[name=mount_path]").nth(1)).to_have_value("/mnt/second")
    assert not Job.objects.exists()

    page.fill("#id_worker_count", "2")
    page.fill("#id_command", "true")
    expect(page.locator("#notes-command .ty-field-note")).to_have_count(0)
    expect(page.locator("#id_command")).not_to_have_attribute("aria-invalid", "true")
    expect(page.locator("#promise")).to_contain_text("2 GPUs, start at once")


def test_numbers_are_those_of_the_last_choice(page: Page, pool: Pool) -> None:
    fill(page, pool, 4)
    for count in ("1", "12", "1", "3"):
        page.fill("#id_worker_count", count)
    expect(page.locator("#total-gpus")).to_have_text("12")
    expect(page.locator("#id_worker_count")).to_have_value("3")
    page.check("#id_custom")
    page.fill("#id_custom_gpus", "11")
    expect(page.locator("#total-gpus")).to_have_text("11")
    page.uncheck("#id_custom")
    expect(page.locator("#total-gpus")).to_have_text("12")


def test_an_update_does_not_move_a_switch_from_under_a_click(page: Page, pool: Pool) -> None:
    """An answer that comes while the pointer is down would bring a note above, and the click would miss."""
    fill(page, pool)
    switch = page.locator("#id_auto_restart")
    switch.scroll_into_view_if_needed()
    page.evaluate("document.documentElement.style.overflowAnchor = 'none'")
    box = switch.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    with page.expect_response("**/jobs/estimate/") as answered:
        page.evaluate(
            "() => { const count = document.getElementById('id_worker_count'); count.value = '0';"
            " count.dispatchEvent(new Event('input', { bubbles: true })); }"
        )
        page.mouse.down()
    assert answered.value.finished() is None
    page.wait_for_function("!document.querySelector('.htmx-request')")
    page.mouse.up()
    expect(switch).to_be_checked()
    expect(page.locator("#notes-worker_count .ty-note-error")).to_be_visible()  # it is asked for again


def test_an_update_touches_no_control_and_nothing_that_is_open(page: Page, pool: Pool) -> None:
    fill(page, pool)
    page.evaluate("for (const e of document.querySelectorAll('select, input, textarea')) e.kept = true")
    page.click("#landing-list summary")
    page.focus("#id_image")
    top = page.evaluate("window.scrollY")
    occupy(pool, [3, 0, 0, 0])
    expect(page.locator("#idle-gpus")).to_have_text("29")
    expect(page.locator("#id_image")).to_be_focused()
    expect(page.locator("#landing-list")).to_have_attribute("open", "")
    assert page.evaluate("window.scrollY") == top
    lost = page.evaluate(
        "[...document.querySelectorAll('select, input:not([type=hidden]), textarea')]"
        ".filter(e => !e.kept).map(e => e.id || e.name)"
    )
    assert lost == []


def test_back_and_the_button_again_find_the_job_that_was_made(page: Page, pool: Pool) -> None:
    fill(page, pool, 1)
    page.click(CREATE)
    page.wait_for_url("**/jobs/jo-*/")
    address = page.url
    page.go_back()
    expect(page.locator("nav#nav")).to_be_visible()
    page.reload()
    expect(page.locator("nav#nav")).to_be_visible()
    assert Job.objects.count() == 1
    page.goto(address)
    expect(page.locator("h1")).to_contain_text("a job")


@pytest.mark.usefixtures("any_image")
def test_what_was_typed_survives_a_reload_another_language_and_the_example(page: Page, pool: Pool) -> None:
    other = make_pool(pool.grants.get().team, zone=make_zone(), network="ib")
    image = make_image(other.zone, reference="registry.example/only-there:1")
    page.reload()
    page.select_option("#id_pool", str(other.pk))
    spec = page.locator(f"input[name=spec][value='{worker_spec(other, 4).pk}']")
    spec.check()
    page.fill("#id_image", image.reference)
    page.keyboard.press("Enter")
    page.fill("#id_worker_count", "3")
    page.fill("#id_command", "line one\nline two")
    page.locator("[name=env_name]").fill("KEY")
    page.locator("[name=env_value]").fill("sekret-4711")
    page.check("[name=env_private]")
    page.locator("#id_name").press_sequentially("typed")

    def all_there() -> None:
        expect(page.locator("#draft-back")).to_be_visible()
        expect(page.locator("#id_command")).to_have_value("line one\nline two")
        expect(page.locator("#id_name")).to_have_value("typed")
        expect(page.locator("[name=env_name]").first).to_have_value("KEY")
        expect(page.locator("[name=env_value]").first).to_have_value("")
        expect(spec).to_be_checked()
        expect(page.locator("#id_image")).to_have_value(image.reference)
        expect(page.locator("#total-gpus")).to_have_text("12")

    page.reload()
    all_there()
    page.click("header button[name=language]")
    all_there()
    page.click("header button[name=language]")
    page.get_by_role("link", name="Fill in the example").click()
    expect(page.locator("#id_name")).to_have_value("example")
    page.locator("#draft-replaced button").click()
    all_there()
    assert "sekret" not in page.evaluate("JSON.stringify(sessionStorage)")
    page.locator("#draft-back button").click()
    expect(page.locator("#id_command")).to_have_value("")
    expect(page.locator("#draft-back")).to_be_hidden()


def test_who_holds_and_who_waits_is_beside_the_form(page: Page, pool: Pool, alice: User) -> None:
    occupy(pool, [8, 8, 8, 8])
    make_job(alice, pool, gpus=8, name="the one that waits")
    page.fill("#id_name", "typed before")
    with page.expect_request("**/queue/**") as asked:
        page.click("#pool-links a >> nth=1")
    assert "name" not in asked.value.url  # nothing of the form goes into an address
    expect(page.locator("dialog[open]")).to_contain_text("the one that waits")
    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)
    expect(page.locator("#id_name")).to_have_value("typed before")


def test_a_note_leads_to_its_field(page: Page, pool: Pool) -> None:
    fill(page, pool, 1)
    page.click("#env-as-text")
    page.fill("#id_env_text", "1A=x")
    page.locator("#id_env_text").locator("xpath=ancestor::details").locator("summary").first.click()
    page.click("#summary .ty-notes a")
    expect(page.locator("#id_env_text")).to_be_focused()
