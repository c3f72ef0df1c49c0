"""Channels and the bell in a real browser: a channel made and tested live, notices that come and are read.

The beat is the test itself: it calls what the periodic tasks call.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from alerts.delivering import deliveries_send
from jobs.findings import Reason
from jobs.lifecycle import move
from jobs.outbox import events_tell
from jobs.scheduling import queue_cycle
from jobs.states import State
from teams.models import User
from tests.alerts.receivers import Reply, Sink, http_sink
from tests.e2e.browser import in_browser, signed_in_page
from tests.factories import make_job, make_pool, make_team, make_user

pytestmark = [*in_browser, pytest.mark.slow]
BELL_MS, TEST_MS = 15_000, 1_000


@pytest.fixture
def sink(settings: Any) -> Iterator[Sink]:
    settings.ALERT_ALLOWED_NETWORKS = [ip_network("127.0.0.0/8")]
    with http_sink() as receiver:
        yield receiver


@pytest.fixture
def alice() -> User:
    return make_user(make_team())


@pytest.fixture
def page(browser: Browser, live_server: Any, alice: User) -> Iterator[Page]:
    with signed_in_page(browser, live_server.url, alice, "/alerts/channels/") as page:
        page.clock.install()
        page.reload()
        yield page


def test_a_channel_is_made_and_its_test_is_watched(page: Page, sink: Sink) -> None:
    page.click("text=Webhook")
    page.fill("#id_name", "my own program")
    page.fill("#id_target", sink.url("/hooks/T0K3N"))
    page.click("text=Save")
    expect(page.locator("h1")).to_have_text("my own program")
    button, result = page.locator("main >> button:has-text('Test')"), page.locator(".ty-tested")
    button.click()
    expect(result).to_contain_text("The test is on its way")
    assert deliveries_send() == 1
    page.clock.run_for(TEST_MS)
    expect(result).to_contain_text("The test has arrived.")
    assert [asked.json["events"] for asked in sink.asked] == [["test"]]
    sink.answer(Reply(status=404))
    button.click()
    expect(result).to_contain_text("The test is on its way")
    page.clock.run_for(TEST_MS)
    expect(result).to_contain_text("The test is on its way")
    deliveries_send()
    page.clock.run_for(TEST_MS)
    expect(result).to_contain_text("The test has not arrived. The receiver answered with HTTP status 404.")
    page.goto("/alerts/channels/")
    expect(page.locator(".ty-list tbody tr")).to_contain_text("refused")
    sink.answer(Reply())
    page.click("main >> button:has-text('Test')")
    expect(page.locator(".ty-list .ty-tested")).to_contain_text("on its way")
    deliveries_send()
    page.clock.run_for(TEST_MS)
    expect(page.locator(".ty-list .ty-tested")).to_contain_text("The test has arrived.")
    assert "T0K3N" not in page.content()


def fail_job(alice: User, name: str) -> None:
    """By the doors that the console itself uses."""
    job = make_job(alice, make_pool(alice.memberships.get().team), name=name)
    queue_cycle(job.pool_id)
    move([job.pk], State.DEPLOYING, State.RUNNING)
    move([job.pk], State.RUNNING, State.FAILED, reason=Reason("exit_code", {"rank": 0, "exit_code": 3}))
    events_tell()


def test_the_bell_counts_what_comes_and_what_is_read(page: Page, alice: User) -> None:
    bell, menu = page.locator("#bell-menu > summary"), page.locator("#bell-menu .ty-menu-panel")
    expect(bell).to_have_accessible_name("Notices: none unread")
    place = bell.bounding_box()
    fail_job(alice, "first-<b>job</b>")
    page.clock.run_for(BELL_MS)
    expect(bell).to_have_accessible_name("1 unread notice")
    assert bell.bounding_box() == place
    bell.focus()
    page.keyboard.press("Enter")
    expect(menu.locator("strong")).to_have_text("unread: Failed: first-<b>job</b>")
    fail_job(alice, "second")
    page.clock.run_for(BELL_MS)
    expect(bell).to_have_accessible_name("2 unread notices")
    expect(bell).to_be_focused()
    expect(menu.locator("strong")).to_have_count(2)
    menu.locator("a", has_text="first-").click()
    page.wait_for_url("**/jobs/jo-*/")
    expect(bell).to_have_accessible_name("1 unread notice")
    bell.click()
    menu.locator("text=Mark all as read").click()
    expect(bell).to_have_accessible_name("Notices: none unread")
    expect(menu).to_be_visible()
    expect(menu.locator("text=Mark all as read")).to_have_count(0)


def test_whoever_comes_back_to_the_tab_sees_it_at_once(page: Page, alice: User) -> None:
    fail_job(alice, "meanwhile")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("#bell-menu > summary")).to_have_accessible_name("1 unread notice")
