"""The page of one job in a real browser: what is replaced, and what stays as the reader left it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from jobs.lifecycle import event, move
from jobs.models import Job
from jobs.scheduling import queue_cycle
from jobs.states import State
from runs.registry import engine_of
from teams.models import User
from tests.e2e.browser import in_browser, signed_in_page
from tests.factories import make_job, make_pool, make_team, make_user

pytestmark = [*in_browser, pytest.mark.slow]
POLL_MS = 2000


@pytest.fixture
def alice() -> User:
    return make_user(make_team())


@pytest.fixture
def job(alice: User, settings: Any, tmp_path: Path) -> Iterator[Job]:
    """A job of ten Workers that runs; the log of the first can be written."""
    settings.RUNS_DIR = tmp_path
    engine_of.cache_clear()
    job = make_job(alice, make_pool(alice.memberships.get().team), workers=10)
    queue_cycle(job.pool_id)
    move([job.pk], State.DEPLOYING, State.RUNNING)
    (tmp_path / job.key / "1" / "0").mkdir(parents=True)
    log_of(job, tmp_path).write_text("".join(f"line {n}\n" for n in range(200)))
    yield job
    engine_of.cache_clear()


def log_of(job: Job, folder: Path) -> Path:
    return folder / job.key / "1" / "0" / "log"


@pytest.fixture
def page(browser: Browser, live_server: Any, alice: User, job: Job) -> Iterator[Page]:
    with signed_in_page(browser, live_server.url, alice, f"/jobs/{job.key}/") as page:
        page.clock.install()
        page.reload()
        yield page


def test_what_is_open_stays_open(page: Page, job: Job) -> None:
    page.click("#folded-workers summary")
    page.locator("#folded-workers a").first.focus()
    page.click("#stop")
    expect(page.locator("#dialog")).to_be_visible()
    job.attempts.get().workers.filter(rank=9).update(exit_code=1)
    event(job.pk, "start_delayed")
    with page.expect_response("**/live/**"):
        page.clock.run_for(POLL_MS)
    expect(page.locator("#event-list li").first).to_contain_text("The start is delayed")
    expect(page.locator(".ty-workers td").first).to_have_text("9")  # what failed comes first
    expect(page.locator("#folded-workers")).to_have_attribute("open", "")
    expect(page.locator("#dialog")).to_be_visible()
    expect(page.locator("#dialog >> text=Cancel")).to_be_focused()


def test_the_log_is_followed_only_at_its_end(page: Page, job: Job, tmp_path: Path) -> None:
    pane = page.locator("#log .ty-log")
    expect(pane).to_contain_text("line 199")
    at_end = "p => Math.round(p.scrollHeight - p.scrollTop - p.clientHeight)"
    assert pane.evaluate(at_end) <= 1
    log = log_of(job, tmp_path)
    add(log, "one more\n", page)
    expect(pane).to_contain_text("one more")
    assert pane.evaluate(at_end) <= 1

    pane.evaluate("p => { p.scrollTop = 100 }")
    add(log, "two\nthree\n", page)
    expect(page.locator("#log-new")).to_have_text("2 new lines ↓")
    assert pane.evaluate("p => p.scrollTop") == 100
    add(log, "<b>four</b>\n", page)
    expect(page.locator("#log-new")).to_have_text("3 new lines ↓")
    page.click("#log-new")
    expect(page.locator("#log-new")).to_be_hidden()
    assert pane.evaluate(at_end) <= 1
    expect(pane).to_contain_text("<b>four</b>")


def add(log: Path, text: str, page: Page) -> None:
    with log.open("a") as file:
        file.write(text)
    with page.expect_response("**/log/**"):
        page.clock.run_for(POLL_MS)


def test_lines_wrap_or_not_as_chosen(page: Page) -> None:
    pane = page.locator("#log .ty-log")
    expect(page.locator("#log-wrap")).to_have_attribute("aria-pressed", "true")
    page.click("#log-wrap")
    expect(pane).to_have_css("white-space-collapse", "preserve")
    expect(pane).to_have_css("text-wrap-mode", "nowrap")
    page.reload()
    expect(page.locator("#log-wrap")).to_have_attribute("aria-pressed", "false")


def test_where_to_look_is_asked_for_when_it_is_opened_and_stays(page: Page, alice: User, job: Job) -> None:
    waiting = make_job(alice, job.pool, gpus=8, workers=2)
    page.goto(page.url.replace(job.key, waiting.key))
    causes = page.locator("#causes")
    expect(causes.locator("li")).to_have_count(0)
    causes.locator("summary").click()
    expect(causes.locator("li").first).to_have_id("cause-resources")
    event(waiting.pk, "created")
    page.clock.run_for(POLL_MS)
    expect(page.locator("#live-events li")).to_have_count(2)
    expect(causes.locator("li").first).to_be_visible()
