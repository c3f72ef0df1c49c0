"""Rows of alerts in a real browser: added and taken away, kept in the draft, and following the team."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from alerts.models import Channel
from teams.models import Team, User
from tests.e2e.browser import in_browser, signed_in_page
from tests.factories import make_channel, make_image, make_pool, make_team, make_user, make_zone

pytestmark = [*in_browser, pytest.mark.slow]
ROWS = "#alert-rows [data-row]"


@pytest.fixture
def alice() -> User:
    audio, vision = make_team("audio"), make_team("vision")
    zone = make_zone()
    for team in (audio, vision):
        make_pool(team, zone=zone)
    make_image(zone)
    user = make_user(audio, vision, name="alice")
    make_channel(user, name="my mail")
    make_channel(make_user(vision, admin=True), vision, name="vision chat")
    return user


@pytest.fixture
def page(browser: Browser, live_server: Any, alice: User) -> Iterator[Page]:
    with signed_in_page(browser, live_server.url, alice, "/jobs/create/") as page:
        choose_team(page, "vision")
        yield page


def choose_team(page: Page, name: str) -> None:
    with page.expect_response("**/jobs/estimate/"):
        page.select_option("#id_team", label=name)
    expect(page.locator("[name=shown_team]")).to_have_value(str(Team.objects.get(name=name).pk))


def channel(name: str) -> str:
    return str(Channel.objects.get(name=name).pk)


def fill(page: Page, number: int, code: str, name: str) -> None:
    row = page.locator(ROWS).nth(number)
    row.locator(f"[name=alert_event][value$='.{code}']").check()
    row.locator("[name=alert_channel]").select_option(channel(name))


def rows(page: Page) -> list[tuple[str, list[str], str]]:
    """Of each row the channel, what is ticked with its number, and the limit."""
    found = []
    for row in page.locator(ROWS).all():
        ticked = row.locator("[name=alert_event]:checked").evaluate_all(
            "boxes => boxes.map(one => one.value)"
        )
        minutes = row.locator("[name=alert_minutes]").input_value()
        found.append((row.locator("[name=alert_channel]").input_value(), ticked, minutes))
    return found


def test_rows_come_and_go_and_survive_a_reload(page: Page) -> None:
    said = page.locator("#said-alerts")
    expect(said).to_have_text("nobody is told")
    page.click("#section-alerts > summary")
    expect(page.locator("[name=alert_minutes]")).to_be_hidden()
    fill(page, 0, "failed", "my mail")
    page.click("[data-add-row=alert-rows]")
    assert rows(page)[1] == ("", [], "")
    fill(page, 1, "succeeded", "vision chat")
    page.locator("[name=alert_timed]").nth(1).select_option("queued_too_long")
    page.locator("[name=alert_minutes]").nth(1).fill("30")
    both = [(channel("my mail"), ["0.failed"], ""), (channel("vision chat"), ["1.succeeded"], "30")]
    assert rows(page) == both
    expect(said).to_have_text(
        "Failed → my mail · Succeeded, Waits longer than 30 min → vision chat", use_inner_text=False
    )
    page.wait_for_function("sessionStorage.getItem('create-draft')?.includes('\"30\"')")
    page.goto(page.url.partition("?")[0])
    expect(page.locator(ROWS)).to_have_count(2)
    expect(said).to_have_text("Failed → my mail · Succeeded, Waits longer than 30 min → vision chat")
    assert rows(page) == both
    page.click("#section-alerts > summary")
    page.locator("[data-remove-row]").and_(page.locator("#alert-rows button")).first.click()
    assert rows(page) == [(channel("vision chat"), ["0.succeeded"], "30")]


def test_another_team_takes_its_channel_along(page: Page) -> None:
    page.click("#section-alerts > summary")
    fill(page, 0, "failed", "my mail")
    page.click("[data-add-row=alert-rows]")
    fill(page, 1, "failed", "vision chat")
    before = rows(page)
    choose_team(page, "audio")
    expect(page.locator("#changed-part")).to_contain_text("vision chat is not for jobs of this team")
    assert rows(page) == before[:1]
    assert page.locator("#alert-rows option", has_text="vision chat").count() == 0
    choose_team(page, "vision")
    expect(page.locator(ROWS)).to_have_count(2)
    assert rows(page) == before


def test_a_channel_made_meanwhile_can_be_chosen(page: Page, alice: User) -> None:
    """Coming back from the tab where it was made, with what was chosen and typed before left alone."""
    page.click("#section-alerts > summary")
    fill(page, 0, "failed", "my mail")
    before = rows(page)
    make_channel(alice, name="brand new")
    page.locator("[name=alert_channel]").first.focus()
    with page.expect_response("**/jobs/alert-channels/*"):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("#alert-rows option", has_text="brand new")).to_have_count(1)
    assert rows(page) == before
    expect(page.locator("[name=alert_channel]").first).to_be_focused()
    page.locator("[name=alert_channel]").first.select_option(channel("brand new"))
