"""Debian's Chromium against a live server, and somebody who has signed in there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from teams.models import User
from tests.factories import PASSWORD

CHROMIUM = shutil.which("chromium")
PATIENCE_MS = 20_000

in_browser = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="no /usr/bin/chromium here"),
]


@contextmanager
def started_browser() -> Iterator[Browser]:
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # the browser's event loop runs in this thread
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@contextmanager
def signed_in_page(
    browser: Browser, server: str, user: User, address: str, **options: object
) -> Iterator[Page]:
    """The page at `address` for the user, who has just signed in; `options` are those of a browser context.

    Fails at the end if a script broke, or the page went against its content security policy.
    """
    context = browser.new_context(
        **({"locale": "en-GB", "base_url": server, "reduced_motion": "reduce"} | options)
    )  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    broken: list[str] = []
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.on("console", lambda line: broken.append(line.text) if "Content Security" in line.text else None)
    page.goto(address)
    page.fill("#id_username", user.username)
    page.fill("#id_password", PASSWORD)
    page.click("main button")
    page.wait_for_url("**" + address)
    yield page
    context.close()
    assert broken == []
