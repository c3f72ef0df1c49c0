"""A form is tried in the browser, with a real engine: a card tells how that goes, the form stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import CHROMIUM
from tests.e2e.stack import Console

pytestmark = [
    pytest.mark.browser,
    pytest.mark.stack,
    pytest.mark.once,
    pytest.mark.timeout(400),
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no /usr/bin/chromium here"),
]
PATIENCE_MS = 90_000
TRY = ".ty-confirm button[name=trial]"


@pytest.fixture
def page(browser: Browser, console: Console) -> Iterator[Page]:
    context = browser.new_context(base_url=console.address, locale="en-GB", reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    page.goto("/accounts/login/?next=/jobs/create/")
    page.fill("#id_username", "alice")
    page.fill("#id_password", "demo")
    page.click("main button")
    page.wait_for_url("**/jobs/create/")
    yield page
    context.close()


def test_a_failing_form_is_mended_by_its_trials(page: Page, console: Console) -> None:
    card = page.locator("#trial")
    page.click(TRY)
    expect(card).to_contain_text("No trial run was made.")
    expect(card).to_contain_text("Start command")
    expect(page.locator("#notes-command")).to_contain_text("This field is required.")

    page.locator("input[name=spec]").first.check()
    page.fill("#id_worker_count", "3")
    page.fill("#id_command", 'echo "in $TRAINYARD_JOB_ID"\nexit 3')
    page.fill("#id_name", "tried")
    page.click(TRY)
    expect(card).to_contain_text("exit code 3")
    expect(card).to_contain_text("Failed")
    expect(page.locator("#id_command")).to_have_value('echo "in $TRAINYARD_JOB_ID"\nexit 3')
    first = card.locator("a").first.get_attribute("href")
    log = page.context.new_page()
    log.goto(card.get_by_role("link", name=re.compile("Log")).get_attribute("href") or "")
    expect(log.locator("body")).to_contain_text("in jo-")
    log.close()

    changed = card.get_by_text("The form has changed since")
    expect(changed).to_be_hidden()
    page.fill("#id_command", "true")
    expect(changed).to_be_visible()
    page.click(TRY)
    expect(card).to_contain_text("Succeeded")
    expect(changed).to_be_hidden()
    second = card.locator("a").first.get_attribute("href")
    assert first != second
    page.reload()  # the draft comes back, and with it the card of its trial
    expect(card.locator("a").first).to_have_attribute("href", second or "")
    expect(changed).to_be_hidden()
    page.fill("#id_command", "false")
    expect(changed).to_be_visible()
    page.fill("#id_command", "true")
    expect(changed).to_be_hidden()

    page.click(".ty-confirm .btn-primary")
    page.wait_for_url("**/jobs/jo-*/")
    expect(page.locator("h1")).to_contain_text("tried")
    expect(page.locator("h1")).not_to_contain_text("trial")
    names = [job["name"] for job in console.call("GET", "jobs/?search=tried")["results"]]
    assert sorted(names) == ["tried", "tried (trial)", "tried (trial)"]
