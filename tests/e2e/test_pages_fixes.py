"""Check results in the browser: fixes shown, made and undone; where a result leads; what is not certain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from jobs.models import Job
from pools.models import Pool
from tests.e2e.browser import in_browser, signed_in_page
from tests.factories import make_image, make_pool, make_team, make_user, make_volume, make_zone, worker_spec
from tests.jobs.advised import advised

pytestmark = [*in_browser, pytest.mark.slow]
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
PIPED = "cd /mnt/public\npython t.py | tee log\ndate"


@pytest.fixture
def pool() -> Pool:
    zone = make_zone(public_data="/srv/public")
    pool = make_pool(team := make_team(), zone=zone)
    make_image(zone)
    make_volume(zone, team, suggested=False)
    return pool


@pytest.fixture(params=[WIDE])
def page(request: Any, browser: Browser, live_server: Any, pool: Pool) -> Iterator[Page]:
    alice = make_user(pool.grants.get().team)
    with (
        mock.patch("jobs.estimate.advise", advised),
        signed_in_page(browser, live_server.url, alice, "/jobs/create/", viewport=request.param) as page,
    ):
        page.check(f"input[name=spec][value='{worker_spec(pool, 1).pk}']")
        yield page


def at_field(page: Page, name: str = "command") -> Locator:
    return page.locator(f"#notes-{name} .ty-fix")


def undo_of(place: Locator) -> Locator:
    return place.locator(".ty-fixed:visible button")


def settle(page: Page, fix: Locator) -> None:
    fix.locator("summary").click()
    fix.locator("button").click()


def test_a_fix_is_shown_then_made_then_undone(page: Page) -> None:
    command = page.locator("#id_command")
    command.fill(PIPED)
    fix = at_field(page)
    fix.locator("summary").press("Enter")
    expect(fix.locator("ins")).to_have_text("after: set -o pipefail")
    expect(command).to_have_value(PIPED)  # nothing happens by looking
    fix.locator("button").press("Enter")
    expect(command).to_have_value(f"set -o pipefail\n{PIPED}")
    undo = undo_of(page.locator(".ty-code"))
    expect(undo).to_be_focused()
    expect(page.locator("#fix-said")).to_have_text("Changed.")
    expect(at_field(page)).to_have_count(0)  # the live answer finds nothing any more
    expect(undo).to_be_visible()
    undo.press("Enter")
    expect(command).to_have_value(PIPED)
    expect(command).to_be_focused()
    expect(page.locator("#fix-said")).to_have_text("Undone: as it was before.")
    expect(page.locator(".ty-fixed")).to_have_count(0)
    expect(at_field(page)).to_have_count(1)


def test_the_keyboards_undo_knows_of_a_fix(page: Page) -> None:
    command = page.locator("#id_command")
    command.press_sequentially("a | tee b")
    settle(page, at_field(page))
    expect(command).to_have_value("set -o pipefail\na | tee b")
    command.press("Control+z")
    expect(command).to_have_value("a | tee b")
    expect(page.locator(".ty-fixed:visible")).to_have_count(0)  # there is nothing left to take back


def test_fixes_are_undone_one_by_one_and_not_over_what_was_typed_since(page: Page) -> None:
    command = page.locator("#id_command")
    command.fill("a || true\nsleep 9\nb || true")
    steps = ["a\nsleep 9\nb || true", "a\nb || true", "a\nb"]
    for left, expected in zip((3, 2, 1), steps, strict=True):
        expect(at_field(page)).to_have_count(left)
        settle(page, at_field(page).first)
        expect(command).to_have_value(expected)
    undo = undo_of(page.locator(".ty-code"))
    expect(undo).to_have_count(1)  # of the latest
    undo.click()
    expect(command).to_have_value("a\nb || true")
    command.press_sequentially("x")
    expect(undo).to_have_count(0)
    command.press("Backspace")
    undo.click()
    undo.click()
    expect(command).to_have_value("a || true\nsleep 9\nb || true")


@pytest.mark.parametrize(
    ("before", "meanwhile", "refused"),
    [
        ("a || true", "b || true", True),
        ("a || true", "a || true\nmore", False),
        ("date\nsleep 9", "date\nsleep 8", True),
        ("date\na || true", "a || true", True),  # the line is another one now
    ],
)
def test_a_text_that_changed_meanwhile_is_left_alone(
    page: Page, before: str, meanwhile: str, refused: bool
) -> None:
    command = page.locator("#id_command")
    command.fill(before)
    fix = at_field(page)
    fix.locator("summary").click()
    page.route("**/jobs/estimate/", lambda route: route.abort())
    command.fill(meanwhile)
    fix.locator("button").click()
    if refused:
        expect(command).to_have_value(meanwhile)
        expect(fix).to_contain_text("What was there has changed meanwhile")
        expect(page.locator("#fix-said")).to_contain_text("What was there has changed meanwhile")
    else:
        expect(command).to_have_value("a\nmore")


def test_lines_are_put_in_replaced_and_taken_away_wherever_they_stand(page: Page) -> None:
    command = page.locator("#id_command")
    for before, line, after in (
        ("sleep 9\ndate", 1, "date"),
        ("date\nsleep 9", 2, "date"),
        ("sleep 9", 1, ""),
        ("date\n\nsleep 9\n", 3, "date\n\n"),
        ("\n\na || true", 3, "\n\na"),
        ("\na | tee b", 1, "set -o pipefail\n\na | tee b"),
    ):
        command.fill("date")
        expect(at_field(page)).to_have_count(0)
        command.fill(before)
        expect(at_field(page).locator("button")).to_have_attribute("data-line", str(line))
        settle(page, at_field(page))
        expect(command).to_have_value(after)
        undo_of(page.locator(".ty-code")).click()
        expect(command).to_have_value(before)


@pytest.mark.parametrize(
    ("command", "name", "control", "before", "after"),
    [
        ("three", "worker_count", "#id_worker_count", "1", "3"),
        ("ddp", "framework", "[name=framework]:checked", "single", "pytorch_ddp"),
    ],
)
def test_a_fix_of_another_field_sets_its_control(
    page: Page, command: str, name: str, control: str, before: str, after: str
) -> None:
    page.fill("#id_command", command)
    settle(page, at_field(page, name))
    expect(page.locator(control)).to_have_value(after)
    expect(at_field(page, name)).to_have_count(0)
    undo_of(page.locator("#choices")).click()
    expect(page.locator(control)).to_have_value(before)
    expect(at_field(page, name)).to_have_count(1)


@pytest.mark.parametrize("page", [WIDE, PHONE], indirect=True, ids=["wide", "phone"])
def test_a_fix_in_the_summary_has_its_way_back_beside_the_button(page: Page) -> None:
    page.fill("#id_command", "public")
    expect(page.locator("#checklist")).to_have_js_property(
        "open", not page.locator("#summary-toggle").is_visible()
    )
    if page.locator("#summary-toggle").is_visible():
        page.click("#summary-toggle")
    settle(page, page.locator("#summary .ty-fix").filter(has=page.locator("[data-fix=public_data]")))
    expect(page.locator("#id_public_data")).to_be_checked()
    undo = undo_of(page.locator(".ty-confirm"))
    expect(undo).to_be_focused()
    undo.click()
    expect(page.locator("#id_public_data")).not_to_be_checked()


def test_what_is_open_stays_open_over_an_update(page: Page) -> None:
    page.fill("#id_command", PIPED)
    fix = at_field(page)
    fix.locator("summary").click()
    fix.locator("button").focus()
    page.evaluate("document.querySelector('#notes-command').old = true")
    page.fill("#id_worker_count", "2")
    expect(page.locator("#total-gpus")).to_have_text("2")
    page.wait_for_function("!document.querySelector('#notes-command').old")
    expect(fix).to_have_attribute("open", "")
    fix.locator("button").click()
    expect(page.locator("#id_command")).to_have_value(f"set -o pipefail\n{PIPED}")


def test_a_note_selects_its_line(page: Page) -> None:
    lines = [f"echo {n}" for n in range(40)]
    lines[30] = "x || true"
    page.fill("#id_command", "\n".join(lines))
    selected = "e => e.value.slice(e.selectionStart, e.selectionEnd)"
    for link in ("#summary a[data-line]", "#notes-command a[data-line]"):
        page.locator("#id_command").evaluate("e => { e.setSelectionRange(0, 0); e.scrollTop = 0; e.blur(); }")
        page.locator(link).click()
        expect(page.locator("#id_command")).to_be_focused()
        assert page.locator("#id_command").evaluate(selected) == "x || true"
        assert page.locator("#id_command").evaluate("e => e.scrollTop") > 0


def test_a_result_is_grey_until_the_section_that_decides_was_touched(page: Page) -> None:
    page.fill("#id_command", "/a/out")
    note = page.locator("#summary li", has_text="line 1")
    expect(note).to_have_class("ty-note-waits")
    expect(note).to_contain_text("(depends on Storage below)")
    page.focus("#id_name")
    expect(note).to_have_class("ty-note-waits")
    page.focus("[name=mount_path]")
    page.focus("#id_name")
    expect(note).to_have_class("ty-note-warning")


def test_pressing_the_button_makes_it_certain(page: Page) -> None:
    page.fill("#id_command", "/a/out")
    expect(page.locator("#notes-command .ty-note-waits")).to_have_count(1)
    page.click(".ty-confirm .btn-primary")  # without a name nothing is created
    expect(page.locator("#notes-command .ty-note-warning")).to_have_count(1)
    assert not Job.objects.exists()


def test_what_was_ticked_by_hand_counts_and_survives(page: Page) -> None:
    expect(page.locator("#confirm-image")).to_be_hidden()
    said = page.locator("#said-checklist")
    page.fill("#id_command", "date")
    expect(page.locator("#point-failure")).to_have_attribute("data-standing", "ok")
    before = int((said.text_content() or "").split()[0])
    page.locator("#checklist label", has_text="It has been tried").click()
    expect(said).to_have_text(f"{before + 1} of 9 settled")
    page.reload()
    expect(page.locator("#draft-back")).to_be_visible()
    expect(page.locator("#confirm-trial")).to_be_checked()
    expect(page.locator("#confirm-resume")).not_to_be_checked()
    expect(said).to_have_text(f"{before + 1} of 9 settled")
