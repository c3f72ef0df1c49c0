"""Every page by axe-core, wide and narrow, light and dark: nothing serious, and every control has a name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import CHROMIUM, PATIENCE_MS
from tests.e2e.stack import Console
from tests.e2e.tour import Tour

pytestmark = [
    pytest.mark.browser,
    pytest.mark.stack,
    pytest.mark.once,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(CHROMIUM is None, reason="no /usr/bin/chromium here"),
]
AXE = (Path(__file__).parent / "vendor" / "axe-core-4.14.1" / "axe.min.js").read_text()
# What a page asks for after itself is there.
SETTLED = """() => !document.querySelector('.ty-room')
    && (!document.getElementById('log') || document.querySelector('#log .ty-log'))"""
GRAVE = ("serious", "critical")
LOOKS = [(1440, "light", "en-GB"), (390, "dark", "zh-CN")]


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tour]:
    with Console(tmp_path_factory.mktemp("tour") / "data") as console:
        yield Tour(console)


def sign_in(page: Page, user: str = "alice") -> None:
    page.goto("/accounts/login/")
    page.fill("#id_username", user)
    page.fill("#id_password", "demo")
    page.click("main button")
    page.wait_for_url("**/")


def grave_findings(page: Page) -> list[str]:
    page.evaluate(AXE)
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['target']} {node['failureSummary'].splitlines()[1:3]}"
        for one in found["violations"]
        if one["impact"] in GRAVE
        for node in one["nodes"][:3]
    ]


@pytest.mark.parametrize(("width", "theme", "language"), LOOKS, ids=lambda value: str(value))
def test_no_page_has_a_grave_fault(
    browser: Browser, tour: Tour, width: int, theme: Any, language: str
) -> None:
    context = browser.new_context(
        base_url=tour.console.address,
        locale=language,
        color_scheme=theme,
        viewport={"width": width, "height": 900},
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    found: dict[str, list[str]] = {}
    page.goto("/accounts/login/")
    found["sign-in"] = grave_findings(page)
    sign_in(page)
    for name, address in tour.pages().items():
        page.goto(address)
        page.wait_for_function(SETTLED)
        found[name] = grave_findings(page)
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found[name].append("wider than the screen")
    page.goto("/jobs/create/")
    page.click(".ty-confirm .btn-primary")
    expect(page.locator(".alert-danger")).to_be_visible()
    found["create-refused"] = grave_findings(page)
    context.close()
    lines = [f"{name}: {fault}" for name, faults in found.items() for fault in faults]
    assert not lines, "\n".join(lines)


def test_the_form_can_be_filled_by_keyboard_alone(browser: Browser, tour: Tour) -> None:
    context = browser.new_context(base_url=tour.console.address, locale="en-GB", reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    sign_in(page)
    page.goto("/jobs/create/?example=1")
    reached: set[str] = set()
    for _ in range(120):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.name || document.activeElement.id || ''"))
        if page.evaluate("document.activeElement.matches('.ty-confirm .btn-primary')"):
            break
    wanted = {"pool", "spec", "worker_count", "custom", "id_image", "framework", "command", "env_as"}
    wanted |= {"env_name", "env_value", "env_private", "public_data", "mount_volume", "mount_path"}
    wanted |= {"name", "tags"}
    assert wanted - reached == set()
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs/jo-*/")
    context.close()
