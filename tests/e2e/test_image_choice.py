"""The field that searches for an image, by keyboard and by mouse, and what it tells a screen reader."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from jobs.models import Job
from pools.models import Pool
from teams.models import User
from tests.e2e.browser import in_browser, signed_in_page
from tests.factories import make_image, make_job, make_pool, make_team, make_user, make_zone

pytestmark = [*in_browser, pytest.mark.slow, pytest.mark.usefixtures("any_image")]
DIGEST = "sha256:feed" + "0123456789abcdef" * 3 + "0" * 12


@pytest.fixture
def pool() -> Pool:
    team = make_team()
    pool = make_pool(team)
    make_image(pool.zone, reference="registry.example/pytorch:2.4")
    make_image(pool.zone, reference="registry.example/pytorch:2.3", digest=DIGEST)
    make_image(pool.zone, reference="registry.example/ours:1", team=team)
    return pool


@pytest.fixture
def alice(pool: Pool) -> User:
    return make_user(pool.grants.get().team)


@pytest.fixture
def page(browser: Browser, live_server: Any, pool: Pool, alice: User) -> Iterator[Page]:
    job = make_job(alice, pool, image=pool.zone.images.get(reference__endswith="2.3").pk)
    at = timezone.now() - timedelta(hours=3)
    Job.objects.filter(pk=job.pk).update(state="succeeded", ended_at=at)
    with signed_in_page(browser, live_server.url, alice, "/jobs/create/") as page:
        yield page


def sent(page: Page) -> str:
    """The reference of the image that the form would send."""
    return str(page.eval_on_selector("select[name=image]", "select => select.selectedOptions[0].text"))


def active(page: Page) -> str:
    """What a screen reader says at the place of the cursor in the list."""
    at = page.locator("#id_image").get_attribute("aria-activedescendant")
    return page.locator(f"#{at}").inner_text() if at else ""


def test_by_keyboard(page: Page) -> None:
    field, options = page.locator("#id_image"), page.locator("#image-list [role=option]")
    expect(page.get_by_role("combobox", name="Image")).to_have_count(1)
    expect(field).to_have_attribute("aria-expanded", "false")
    field.focus()
    expect(page.locator("#image-list")).to_be_hidden()
    page.keyboard.press("ArrowDown")
    expect(field).to_have_attribute("aria-expanded", "true")
    expect(options).to_have_count(3)
    assert "pytorch:2.3" in active(page)  # succeeded lately, so it is the first
    page.keyboard.press("ArrowDown")
    assert "ours:1" in active(page)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert "pytorch:2.4" in active(page)  # the last
    page.keyboard.press("Escape")
    expect(page.locator("#image-list")).to_be_hidden()
    assert (active(page), sent(page)) == ("", "— choose —")

    page.keyboard.type("pytorch 2.4")
    expect(options).to_have_count(1)
    assert "2.4" in active(page)
    with page.expect_response("**/jobs/estimate/"):
        page.keyboard.press("Enter")
    assert sent(page) == "registry.example/pytorch:2.4"
    expect(field).to_have_value("registry.example/pytorch:2.4")
    expect(field).to_be_focused()
    assert page.url.endswith("/jobs/create/")
    expect(page.locator("#said-environment")).to_contain_text("pytorch:2.4")


def test_a_search_that_is_left_changes_nothing(page: Page) -> None:
    field = page.locator("#id_image")
    field.fill("ours")
    page.keyboard.press("Enter")
    field.fill("something else")
    expect(page.locator("#image-list")).to_contain_text("No image matches.")
    page.keyboard.press("Tab")
    expect(field).to_have_value("registry.example/ours:1")
    assert sent(page) == "registry.example/ours:1"
    field.fill("")
    page.keyboard.press("Tab")
    assert sent(page) == "— choose —"


def test_by_digest_and_kind_and_mouse(page: Page) -> None:
    field, options = page.locator("#id_image"), page.locator("#image-list [role=option]")
    field.fill("feed0123")
    expect(options).to_have_count(1)
    options.click()
    assert sent(page) == "registry.example/pytorch:2.3"
    expect(page.locator("#image-chosen")).to_contain_text("3 hours ago")
    key = Job.objects.get().key
    expect(page.locator("#image-chosen a")).to_have_attribute("href", f"/jobs/{key}/")
    page.get_by_role("button", name="Custom", exact=True).click()
    expect(options).to_have_count(1)
    expect(options).to_contain_text("ours:1")
    page.get_by_role("button", name="All", exact=True).click()
    expect(options).to_have_count(3)


def test_another_pool_brings_other_images_into_the_same_field(page: Page, alice: User) -> None:
    other = make_pool(alice.memberships.get().team, zone=make_zone())
    make_image(other.zone, reference="only-there")
    page.reload()
    page.select_option("#id_pool", str(other.pk))
    expect(page.locator("select[name=image] option")).to_have_count(2)
    page.locator("#id_image").click()
    expect(page.locator("#image-list [role=option]")).to_have_text(["only-there" + "preset"])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert sent(page) == "only-there"
    page.locator("#id_name").fill("typed")
    page.reload()
    expect(page.locator("#draft-back")).to_be_visible()
    expect(page.locator("#id_image")).to_have_value("only-there")
