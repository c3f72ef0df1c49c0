"""`make screenshots`: every page of a furnished console, wide and narrow, light and dark, in both languages.

ONLY=<words> takes the pages whose name holds one of the words; OUT=<folder> is where the pictures go.
"""

import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tests.e2e.stack import Console
from tests.e2e.tour import Tour

CHROMIUM = shutil.which("chromium")
SIZES = {"wide": (1440, 900), "narrow": (390, 844)}
THEMES: tuple[Any, ...] = ("light", "dark")
LANGUAGES = {"zh": "zh-CN", "en": "en-GB"}
SETTLE_MS = 700  # until parts that a page loads after itself are there, and drawn


def main(only: str, folder: Path) -> int:
    """The exit code; 1 if a page is wider than its screen."""
    if CHROMIUM is None:
        print(
            "No pictures: chromium is not installed (apt-get install chromium fonts-noto-cjk)",
            file=sys.stderr,
        )
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    too_wide: list[str] = []
    with tempfile.TemporaryDirectory() as data, Console(Path(data) / "data") as console:
        pages = _chosen(Tour(console).pages(), only.split())
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM)
            for size, theme, language in itertools.product(SIZES, THEMES, LANGUAGES):
                look = f"{size}-{theme}-{language}"
                with _signed_in(browser, console.address, size, theme, language) as page:
                    for name, address in pages.items():
                        file = folder / f"{name}-{look}.png"
                        if not _take(page, address, file):
                            too_wide.append(file.name)
            browser.close()
    for name in too_wide:
        print(f"wider than the screen: {name}")
    print(f"{len(pages) * 8} pictures in {folder}")
    return 1 if too_wide else 0


def _chosen(pages: dict[str, str], words: list[str]) -> dict[str, str]:
    return {n: a for n, a in pages.items() if not words or any(word in n for word in words)}


@contextmanager
def _signed_in(browser: Browser, server: str, size: str, theme: Any, language: str) -> Iterator[Page]:
    width, height = SIZES[size]
    context = browser.new_context(
        base_url=server,
        locale=LANGUAGES[language],
        color_scheme=theme,
        viewport={"width": width, "height": height},
        timezone_id="Asia/Shanghai",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto("/accounts/login/")
    page.fill("#id_username", "alice")
    page.fill("#id_password", "demo")
    page.click("main button")
    page.wait_for_url("**/")
    yield page
    context.close()


def _take(page: Page, address: str, file: Path) -> bool:
    """False if the page is wider than its screen."""
    page.goto(address)
    page.wait_for_timeout(SETTLE_MS)
    page.screenshot(path=file, full_page=True)
    width = page.viewport_size["width"] if page.viewport_size else 0
    return bool(page.evaluate("document.documentElement.scrollWidth") <= width)


if __name__ == "__main__":
    sys.exit(main(os.environ.get("ONLY", ""), Path(os.environ.get("OUT", "screenshots"))))
