"""The list of jobs in a real browser: filters, going back, polling, stopping, time zones."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Error, Page, Route, expect

from jobs.lifecycle import move
from jobs.models import Job
from jobs.scheduling import queue_cycle
from jobs.states import State
from pools.models import Pool
from teams.models import User
from tests.e2e.browser import in_browser, signed_in_page
from tests.factories import make_image, make_job, make_pool, make_team, make_user, make_zone

pytestmark = [*in_browser, pytest.mark.slow]
ODD = '训练-🚀 "q" <img src=x onerror=alert(1)> ../../x (1)'
POLL_MS = 3000


@pytest.fixture
def pool() -> Pool:
    zone = make_zone()
    make_image(zone)
    return make_pool(make_team(), zone=zone)


@pytest.fixture
def alice(pool: Pool) -> User:
    return make_user(pool.grants.get().team)


@pytest.fixture
def page(browser: Browser, live_server: Any, alice: User) -> Iterator[Page]:
    with signed_in_page(browser, live_server.url, alice, "/jobs/") as page:
        yield page


def names(page: Page) -> list[str]:
    return [text.strip() for text in page.locator("td.ty-name > a").all_text_contents()]


def poll(page: Page) -> None:
    """Lets the clock of the page come to the next question, and waits for the answer."""
    with page.expect_response("**/jobs/states/**"):
        page.clock.run_for(POLL_MS)


def test_a_late_answer_never_replaces_a_newer_filter(page: Page, pool: Pool, alice: User) -> None:
    make_job(alice, pool, name="waits")
    ended = make_job(alice, pool, name="ended")
    move([ended.pk], State.QUEUED, State.STOPPED)
    page.goto("/jobs/")
    held: list[Route] = []
    page.route("**/jobs/?state=stopped", lambda route: held.append(route))
    with page.expect_request("**/jobs/?state=stopped"):
        page.click("nav.ty-tabs >> text=Stopped")
    page.click("nav.ty-tabs >> text=Queued")
    expect(page.locator("td.ty-name > a")).to_have_count(1)
    for route in held:
        with contextlib.suppress(Error):  # given up by the page
            route.fulfill(body='<div id="found"><b>late</b></div>')
    page.wait_for_timeout(500)
    assert held
    assert names(page) == ["waits"]
    assert page.url.endswith("/jobs/?state=queued")


def test_pages_of_the_list_by_clicks(page: Page, pool: Pool, alice: User) -> None:
    made = [make_job(alice, pool, name=f"job {n:02}").name for n in range(45)][::-1]
    page.goto("/jobs/")
    seen = names(page)
    while page.locator("nav.ty-pages >> text=Older").count():
        make_job(alice, pool, name="later")
        last = page.locator("td.ty-name > a").last.text_content()
        page.click("nav.ty-pages >> text=Older")
        expect(page.locator("td.ty-name > a").first).not_to_have_text(seen[-len(names(page))])
        assert last == seen[-1]
        seen += names(page)
    assert seen == made
    page.click("nav.ty-pages >> text=Newest")
    expect(page.locator("td.ty-name > a").first).to_have_text("later")


def test_back_reload_and_a_shared_link_give_the_page(page: Page, pool: Pool, alice: User) -> None:
    for n in range(25):
        make_job(alice, pool, name=f"sft {n}")
    make_job(alice, pool, name="other")
    page.goto("/jobs/")
    page.fill("#search", "sft")
    page.press("#search", "Enter")
    expect(page.locator("td.ty-name > a").first).to_have_text("sft 24")
    page.click("nav.ty-pages >> text=Older")
    expect(page.locator("td.ty-name > a")).to_have_count(5)
    address = page.url
    page.click("text='sft 2'")
    page.wait_for_url("**/jobs/jo-*/")
    page.click("#stop")
    page.click("#stop-yes")
    expect(page.locator("#live-head .ty-state")).to_have_text("Stopped")
    page.go_back()
    page.go_back()
    assert page.url == address
    whole(page, "sft", 5)
    expect(page.locator("tr", has_text="sft 2").locator(".ty-state")).to_have_text("Stopped")
    page.reload()
    whole(page, "sft", 5)
    page.go_back()  # within one document: htmx asks for it
    expect(page.locator("td.ty-name > a")).to_have_count(20)
    whole(page, "sft", 20)
    other = page.context.new_page()
    other.goto(address)
    whole(other, "sft", 5)


def whole(page: Page, search: str, rows: int) -> None:
    expect(page.locator("#nav")).to_be_visible()
    expect(page.locator("td.ty-name > a")).to_have_count(rows)
    expect(page.locator("#search")).to_have_value(search)


def test_polling_leaves_alone_what_somebody_does(page: Page, pool: Pool, alice: User) -> None:
    jobs = [make_job(alice, pool, name=f"train {n}") for n in range(15)]
    page.set_viewport_size({"width": 1200, "height": 500})
    page.clock.install()
    page.goto("/jobs/?search=train")
    row = page.locator("tr", has_text=jobs[3].key)
    row.locator("summary").click()
    page.locator("#search").press("End")
    page.locator("#search").press_sequentially("ing")
    page.evaluate("window.scrollTo(0, 300)")
    top = page.evaluate("window.scrollY")
    before = names(page)

    move([jobs[0].pk, jobs[3].pk], State.QUEUED, State.STOPPED)
    make_job(alice, pool, name="another")
    poll(page)
    expect(page.locator("tr", has_text=jobs[0].key).locator(".ty-state")).to_have_text("Stopped")
    expect(row.locator(".ty-state")).to_have_text("Stopped")
    expect(page.locator("#news-link")).to_have_count(0)  # it is not searched for
    make_job(alice, pool, name="train more")
    poll(page)
    expect(page.locator("#news-link")).to_contain_text("1 new job")
    poll(page)

    expect(row.locator("details")).to_have_attribute("open", "")
    expect(row.locator(".ty-menu-danger")).to_have_count(0)  # nothing to stop any more
    expect(page.locator("#search")).to_have_value("training")
    expect(page.locator("#search")).to_be_focused()
    assert page.evaluate("window.scrollY") == top
    assert names(page) == before
    page.locator("#news-link").click()
    expect(page.locator("td.ty-name > a").first).to_have_text("train more")


def test_polling_stops_at_the_end_and_in_hidden_tabs(page: Page, pool: Pool, alice: User) -> None:
    job = make_job(alice, pool)
    page.clock.install()
    page.goto("/jobs/")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/states/" in request.url else None)
    hide = "Object.defineProperty(document, 'hidden', {configurable: true, get: () => %s})"
    page.evaluate(hide % "true")
    page.clock.run_for(3 * POLL_MS)
    assert asked == []
    page.evaluate(hide % "false")
    move([job.pk], State.QUEUED, State.STOPPED)
    poll(page)
    expect(page.locator("tbody .ty-state")).to_have_text("Stopped")
    count = len(asked)
    page.clock.run_for(5 * POLL_MS)
    assert len(asked) == count


def test_progress_stays_open_and_follows(page: Page, pool: Pool, alice: User) -> None:
    job = make_job(alice, pool, name="watched")
    page.clock.install()
    page.goto("/jobs/")
    page.click(f"#opens-{job.key}")
    expect(page.locator("#progress")).to_contain_text("Place 1 in the queue.")
    expect(page.locator("#progress")).to_be_focused()
    queue_cycle(pool.pk)
    with page.expect_response("**/progress/**"):
        page.clock.run_for(2000)
    expect(page.locator("#progress [aria-current=step]")).to_contain_text("Allocate resources")
    poll(page)
    expect(page.locator("#progress")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#progress")).to_be_hidden()
    expect(page.locator(f"#opens-{job.key}")).to_be_focused()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/progress/" in request.url else None)
    page.clock.run_for(6000)
    assert asked == []


def test_a_double_click_stops_once(page: Page, pool: Pool, alice: User) -> None:
    job = make_job(alice, pool, name="twice")
    queue_cycle(pool.pk)
    page.goto("/jobs/?mine=1")
    row = page.locator("tr", has_text="twice")
    row.locator("summary").click()
    row.locator(".ty-menu-danger").click()
    expect(page.locator("#dialog")).to_contain_text("twice")
    page.locator("#dialog >> text=Cancel").click()
    expect(page.locator("#dialog")).to_be_hidden()
    expect(row.locator("summary")).to_be_focused()
    assert Job.objects.get().stop_requested_at is None
    row.locator("summary").click()
    row.locator(".ty-menu-danger").click()
    page.dblclick("#stop-yes")
    expect(page.get_by_text("The job is being stopped.")).to_be_visible()
    assert page.url.endswith("/jobs/?mine=1")
    expect(row.locator(".ty-state")).to_have_text("Stopping")
    page.reload()
    page.go_back()
    assert job.events.filter(code="stop_requested").count() == 1


def test_names_are_text_in_list_dialog_and_progress(page: Page, pool: Pool, alice: User) -> None:
    fired: list[str] = []
    page.on("dialog", lambda dialog: (fired.append(dialog.message), dialog.dismiss()))
    job = make_job(alice, pool, name=ODD, tags=("</script><b>",))
    page.goto("/jobs/")
    expect(page.locator("td.ty-name > a")).to_have_text(ODD)
    page.click(f"#opens-{job.key}")
    expect(page.locator("#progress")).to_contain_text(ODD)
    page.keyboard.press("Escape")
    page.click(".ty-tag")
    expect(page.locator(".ty-chip")).to_contain_text("</script><b>")
    page.click("td.ty-name > a")
    expect(page).to_have_title(re.compile(re.escape(ODD)))
    page.click("#stop")
    expect(page.locator("#dialog")).to_contain_text(ODD)
    assert fired == []


@pytest.mark.parametrize(("zone", "shown"), [("Asia/Shanghai", "UTC+8"), ("America/New_York", "UTC-")])
def test_times_are_the_viewers(
    browser: Browser, live_server: Any, pool: Pool, alice: User, zone: str, shown: str
) -> None:
    midnight = datetime.now(ZoneInfo(zone)).replace(hour=0, minute=0, second=0, microsecond=0)
    began = midnight.astimezone(UTC)
    today, before, ended = (make_job(alice, pool, name=name) for name in ("today", "before", "ended"))
    Job.objects.filter(pk=today.pk).update(created_at=began)
    Job.objects.filter(pk=before.pk).update(created_at=began - timedelta(seconds=1))
    times = {"started_at": began, "ended_at": began + timedelta(seconds=90)}
    Job.objects.filter(pk=ended.pk).update(state=State.FAILED, **times)
    with signed_in_page(browser, live_server.url, alice, "/jobs/", timezone_id=zone) as page:
        row = page.locator("tr", has_text=today.key)
        expect(row.locator("time")).to_contain_text(f"{midnight:%Y-%m-%d} 00:00:00 {shown}")
        page.select_option("[name=created]", "today")
        expect(page.locator("td.ty-name > a")).to_have_count(2)
        assert names(page) == ["ended", "today"]
        expect(page.locator(f"#lasting-{ended.key}")).to_have_text("1 m 30 s")
        expect(page.locator(f"#lasting-{today.key}")).to_contain_text("waiting")
        page.click("text='today'")
        expect(page.locator("#event-list time").first).to_contain_text(shown)


def test_all_works_without_javascript(browser: Browser, live_server: Any, pool: Pool, alice: User) -> None:
    job = make_job(alice, pool, name="plain", tags=("sft",))
    make_job(alice, pool, name="other")
    with signed_in_page(browser, live_server.url, alice, "/jobs/", java_script_enabled=False) as page:
        page.fill("#search", "plain")
        page.click("form[role=search] button")
        assert names(page) == ["plain"]
        page.click(f"#opens-{job.key}")
        expect(page.locator("main")).to_contain_text("Place 1 in the queue.")
        page.go_back()
        row = page.locator("tr", has_text="plain")
        row.locator("summary").click()
        row.locator(".ty-menu-danger").click()
        expect(page.locator("#question")).to_have_text("Stop this job?")
        page.click("#stop-yes")
        expect(page.locator("#live-head .ty-state")).to_have_text("Stopped")
    assert job.events.filter(code="stopped").count() == 1
