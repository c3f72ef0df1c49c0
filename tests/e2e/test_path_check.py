"""The path check in a browser: pressed, answered by a real engine, and marked once the form has changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from runs.models import PathCheck
from runs.tasks import engine_path_checks
from storage.models import Volume
from tests.e2e.browser import in_browser, signed_in_page
from tests.engines.stand import wait_until
from tests.factories import make_image, make_pool, make_team, make_user, make_volume, make_zone

pytestmark = [*in_browser, pytest.mark.slow]
COMMAND = "cd /mnt/public\npython train.py --out /mnt/public/out"


@pytest.fixture
def volume() -> Volume:
    zone = make_zone()
    make_pool(team := make_team(), zone=zone)
    make_image(zone, reference="host")
    return make_volume(zone, team)


@pytest.fixture
def page(browser: Browser, live_server: Any, volume: Volume) -> Iterator[Page]:
    user = make_user(volume.grants.get().team)
    with signed_in_page(browser, live_server.url, user, "/jobs/create/") as page:
        page.fill("#id_command", COMMAND)
        page.fill("#id_name", "一个任务")
        yield page


def engine_works() -> None:
    """What the console's worker does each second."""

    def answered() -> bool:
        engine_path_checks()
        return not PathCheck.objects.filter(settled=False).exists()

    wait_until(answered, "the engine's answer")


def look(page: Page, button: str = "#path-check-button") -> None:
    checks = PathCheck.objects.count()
    page.click(button)
    wait_until(lambda: PathCheck.objects.count() > checks, "the check is stored")
    engine_works()


def test_look_create_and_change(page: Page, volume: Volume) -> None:
    answer, changed = page.locator("#path-check"), page.locator("#path-check [data-changed]")
    look(page)
    expect(answer).to_contain_text("2 paths: 1 readable and writable · 1 missing")
    expect(page.locator("#path-check-said")).to_have_text("2 paths: 1 readable and writable · 1 missing")
    expect(page.locator("#id_command")).to_have_value(COMMAND)
    expect(page.locator("#id_name")).to_have_value("一个任务")
    expect(changed).to_be_hidden()

    look(page, "#path-check button[name=create_path]")
    expect(answer).to_contain_text("2 paths: 2 readable and writable")
    expect(answer).to_contain_text("created just now")
    expect(page.locator("#path-check-button")).to_be_focused()
    assert (Path(volume.path) / "out").is_dir()

    page.fill("[name=mount_path]", "/mnt/elsewhere")
    expect(changed).to_be_visible()
    page.fill("[name=mount_path]", "/mnt/public")
    expect(changed).to_be_hidden()
    page.fill("[name=env_value] >> nth=0", "/mnt/public/in")
    expect(changed).to_be_visible()
    page.fill("[name=env_value] >> nth=0", "")
    expect(changed).to_be_hidden()
    page.fill("#id_name", "another name")
    expect(changed).to_be_hidden()


def test_what_is_wrong_is_said_there(page: Page) -> None:
    page.fill("[name=mount_path]", "relative")
    page.click("#path-check-button")
    expect(page.locator("#path-check")).to_contain_text("A mount path is absolute")
    assert not PathCheck.objects.exists()


def test_a_check_that_is_gone_is_asked_for_no_more(page: Page) -> None:
    page.click("#path-check-button")
    expect(page.locator("#path-check")).to_contain_text("Looking…")
    with page.expect_response("**/jobs/path-check/pc-*/"):
        PathCheck.objects.all().delete()
    expect(page.locator("#path-check")).to_be_empty()
