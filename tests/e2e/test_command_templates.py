"""A template goes into the start command in the browser, and comes out again by button and by Ctrl-Z."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from teams.models import User
from tests.e2e.browser import in_browser, signed_in_page
from tests.factories import make_image, make_pool, make_team, make_user, make_volume

pytestmark = [*in_browser, pytest.mark.slow]


@pytest.fixture
def alice() -> User:
    pool = make_pool(team := make_team())
    make_image(pool.zone)
    make_volume(pool.zone, team)
    return make_user(team)


@pytest.fixture
def page(browser: Browser, live_server: Any, alice: User) -> Iterator[Page]:
    with signed_in_page(browser, live_server.url, alice, "/jobs/create/") as page:
        yield page


def choose(page: Page, label: str) -> None:
    page.get_by_text("Insert a template").click()
    page.get_by_role("button", name=label).click()
    expect(page.locator("#template-done")).to_be_visible()
    expect(page.locator(".ty-templates[open]")).to_have_count(0)


def test_around_the_command_and_back(page: Page) -> None:
    command = page.locator("#id_command")
    command.fill("cd /mnt/public\n./train")
    with page.expect_response("**/jobs/estimate/"):
        choose(page, "Keep a log on the volume")
    text = command.input_value()
    assert text.startswith("set -o pipefail\nlogs=/mnt/public/logs/")
    assert "(\ncd /mnt/public\n./train\n) 2>&1 | tee" in text
    expect(command).to_be_focused()
    expect(page.locator("#template-done")).to_contain_text("stands around your command")
    page.locator("#template-done button").click()
    expect(command).to_have_value("cd /mnt/public\n./train")
    expect(page.locator("#template-done")).to_be_hidden()

    choose(page, "Copy results afterwards")
    command.focus()
    page.keyboard.press("Control+z")
    expect(command).to_have_value("cd /mnt/public\n./train")


def test_where_the_cursor_is(page: Page) -> None:
    command = page.locator("#id_command")
    command.fill("bash first.sh\nbash last.sh")
    command.evaluate("field => field.setSelectionRange(13, 13)")
    choose(page, "torchrun on all Workers")
    lines = command.input_value().splitlines()
    assert (lines[0], lines[1], lines[-1]) == ("bash first.sh", "cd /mnt/public || exit", "bash last.sh")
    command.press("End")
    command.press_sequentially(" ")
    expect(page.locator("#template-done")).to_be_hidden()  # it would take what was typed with it


def test_into_an_empty_field(page: Page) -> None:
    choose(page, "Prepare once")
    assert page.locator("#id_command").input_value().startswith("ready=/mnt/public/prepared/")
    page.keyboard.press("Control+z")
    expect(page.locator("#id_command")).to_have_value("")
