"""The whole story in a browser, in Chinese and in English, on a console as `make run` starts it.

The demo pool has 4 nodes of 8 GPUs, all idle: the numbers below were worked out by hand from that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import CHROMIUM
from tests.e2e.stack import Console

pytestmark = [
    pytest.mark.browser,
    pytest.mark.stack,
    pytest.mark.once,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(CHROMIUM is None, reason="no /usr/bin/chromium here"),
]
PATIENCE_MS = 60_000


@dataclass(frozen=True)
class Words:
    locale: str
    sign_in: str
    create: str
    example: str
    starts: str
    cannot: str
    confirm: str
    created: str
    running: str
    succeeded: str
    log: str
    fill_from: str
    stop: str
    stopped: str


CHINESE = Words(
    locale="zh-CN",
    sign_in="登录",
    create="创建任务",
    example="填入示例",
    starts="2 卡，立即启动",
    cannot="无法在此运行",
    confirm="确认创建",
    created="已创建",
    running="运行中",
    succeeded="成功",
    log="任务日志",
    fill_from="克隆",
    stop="停止",
    stopped="已停止",
)
ENGLISH = Words(
    locale="en-GB",
    sign_in="Sign in",
    create="Create job",
    example="Fill in the example",
    starts="2 GPUs, start at once",
    cannot="Cannot run here",
    confirm="Create",
    created="Created.",
    running="Running",
    succeeded="Succeeded",
    log="Job log",
    fill_from="Clone",
    stop="Stop",
    stopped="Stopped",
)


@pytest.fixture(scope="module")
def idle_console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """One on which nobody else runs anything."""
    with Console(tmp_path_factory.mktemp("story") / "data") as console:
        yield console


@pytest.fixture(params=[CHINESE, ENGLISH], ids=["zh", "en"])
def words(request: pytest.FixtureRequest) -> Words:
    found: Words = request.param
    return found


@pytest.fixture
def page(browser: Browser, idle_console: Console, words: Words) -> Iterator[Page]:
    context = browser.new_context(base_url=idle_console.address, locale=words.locale, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    broken: list[str] = []
    page.on("pageerror", lambda error: broken.append(str(error)))
    yield page
    context.close()
    assert broken == []


def numbers(page: Page, total: str, formula: str, startable: str) -> None:
    """The summary's total with how it comes about, what could start, and the idle GPUs, always 32 of 32."""
    expect(page.locator("#total-gpus")).to_have_text(total)
    expect(page.locator(".ty-summary-numbers dd").first).to_have_text(re.compile(rf"{total}\s*{formula}"))
    expect(page.locator("#startable")).to_have_text(startable)
    expect(page.locator("#idle-gpus")).to_have_text("32")


def choose(page: Page, gpus: int, count: str) -> None:
    page.locator(".ty-card").filter(has_text=re.compile(rf"^\s*{gpus} (GPU|卡)")).click()
    page.fill("#id_worker_count", count)


def test_from_signing_in_to_a_stopped_job(page: Page, words: Words) -> None:
    page.goto("/")
    page.fill("#id_username", "alice")
    page.fill("#id_password", "demo")
    page.get_by_role("button", name=words.sign_in).click()
    page.locator("#nav").get_by_role("link", name=words.create).click()
    page.get_by_role("link", name=words.example).click()

    numbers(page, "2", "= 1 × 2", "32")
    expect(page.locator("#promise")).to_contain_text(words.starts)
    choose(page, 4, "2")
    numbers(page, "8", "= 4 × 2", "8")
    choose(page, 8, "4")
    numbers(page, "32", "= 8 × 4", "4")
    choose(page, 4, "9")
    numbers(page, "36", "= 4 × 9", "8")
    expect(page.locator("#promise")).to_contain_text(words.cannot)
    page.check("#id_custom")
    page.fill("#id_custom_gpus", "13")
    numbers(page, "13", "", "32")
    page.uncheck("#id_custom")
    choose(page, 1, "2")
    numbers(page, "2", "= 1 × 2", "32")
    expect(page.locator("#promise")).to_contain_text(words.starts)
    page.locator(".ty-confirm").get_by_role("button", name=words.confirm).click()

    page.wait_for_url("**/jobs/jo-*/")
    expect(page.get_by_role("status").first).to_contain_text(words.created)
    expect(page.locator("#live-head .ty-state")).to_have_text(words.succeeded)
    expect(page.locator("#log")).to_contain_text("accuracy")
    expect(page.locator("#log").get_by_role("heading", name=words.log)).to_be_visible()
    _stop_another(page, words)


def _stop_another(page: Page, words: Words) -> None:
    page.get_by_role("link", name=words.fill_from).first.click()
    page.fill("#id_command", "echo up; sleep 3000")
    page.fill("#id_name", "to be stopped")
    page.locator(".ty-confirm").get_by_role("button", name=words.confirm).click()
    page.wait_for_url("**/jobs/jo-*/")
    expect(page.locator("#live-head .ty-state")).to_have_text(words.running)
    expect(page.locator("#log")).to_contain_text("up")
    page.get_by_role("link", name=words.stop, exact=True).first.click()
    page.get_by_role("button", name=words.stop).first.click()
    expect(page.locator("#live-head .ty-state")).to_have_text(words.stopped)
