"""In a browser: another pool and back, RDMA with its spec, and an alternative taken over and taken back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from jobs.models import Job
from pools.models import Pool
from teams.models import Team, User
from tests.e2e.browser import in_browser, signed_in_page
from tests.factories import make_pool, make_team, make_user, occupy, worker_spec
from tests.jobs.places import Place, place

pytestmark = [*in_browser, pytest.mark.slow]
OF_THE_PAGE = ["seen", "promise", "csrfmiddlewaretoken", "shown_pool", "laid_aside", "touched"]
VALUES = """(ofThePage) => Object.fromEntries([...new FormData(document.getElementById("create-form"))]
  .filter(([name]) => !ofThePage.includes(name))
  .map(([name, value], at, all) => [name, all.filter(([other]) => other === name).map(([, one]) => one)]))"""


@pytest.fixture
def team(db: None) -> Team:
    return make_team()


@pytest.fixture
def north(team: Team) -> Place:
    return place(team, network="ib", public_data="/srv/public")


@pytest.fixture
def south(team: Team, north: Place, any_image: None) -> Place:
    return place(team, reference="registry.example/south:1")


@pytest.fixture
def near(team: Team, north: Place) -> Pool:
    return make_pool(team, zone=north.pool.zone, name="near")


@pytest.fixture
def alice(team: Team) -> User:
    return make_user(team)


@pytest.fixture
def page(
    browser: Browser, live_server: Any, alice: User, north: Place, south: Place, near: Pool
) -> Iterator[Page]:
    address = f"/jobs/create/?pool={north.pool.pk}"
    with signed_in_page(browser, live_server.url, alice, "/jobs/create/") as page:
        page.goto(address)
        page.check(f"input[name=spec][value='{north.spec(8)}']")
        expect(page.locator("#id_rdma")).to_be_enabled()
        page.check("#id_rdma")
        page.check("#id_public_data")
        page.fill("#id_worker_count", "2")
        page.fill("#id_command", "true")
        page.fill("#id_name", "a job")
        page.fill("[name=mount_path] >> nth=0", "/mnt/mine")
        choose_image(page, north)
        expect(page.locator("#total-gpus")).to_have_text("16")
        yield page


def choose_image(page: Page, where: Place) -> None:
    page.locator("#image-part select").evaluate(
        """(select, value) => {
          select.value = value;
          for (const kind of ["input", "change"]) select.dispatchEvent(new Event(kind, { bubbles: true }));
        }""",
        str(where.image.pk),
    )


def settled(page: Page, pool: Pool) -> None:
    """The page shows what the pool offers."""
    expect(page.locator(f"input[name=shown_pool][value='{pool.pk}']")).to_have_count(1)


def test_another_pool_and_back_leaves_everything_as_it_was(page: Page, north: Place, south: Place) -> None:
    before = page.evaluate(VALUES, OF_THE_PAGE)
    notes = page.locator("#changed-part")
    page.select_option("#id_pool", str(south.pool.pk))
    settled(page, south.pool)
    expect(notes).to_contain_text(f"The image {north.image.reference} cannot be used")
    expect(notes).to_contain_text("RDMA is switched off")
    expect(page.locator(f"input[name=spec][value='{south.spec(8)}']")).to_be_checked()
    expect(page.locator("#id_rdma")).not_to_be_checked()
    expect(page.locator("#id_rdma")).to_be_disabled()
    expect(page.locator("#id_public_data")).to_have_count(0)
    expect(page.locator("[name=mount_path]").first).to_have_value(south.volume.default_mount_path)
    page.fill("#id_description", "typed there")
    expect(notes).to_contain_text("RDMA is switched off")  # said until the next change

    page.select_option("#id_pool", str(north.pool.pk))
    settled(page, north.pool)
    expect(notes).to_contain_text("Back again: ")
    expect(page.locator("#id_rdma")).to_be_checked()
    assert page.evaluate(VALUES, OF_THE_PAGE) == before | {"description": ["typed there"]}
    page.click(".ty-confirm .btn-primary")
    page.wait_for_url("**/jobs/jo-*/")
    request = Job.objects.get().request
    assert (request["image"], request["rdma"], request["public_data"]) == (north.image.pk, True, True)


def test_what_another_pool_took_out_survives_a_reload(page: Page, north: Place, south: Place) -> None:
    before = page.evaluate(VALUES, OF_THE_PAGE)
    page.select_option("#id_pool", str(south.pool.pk))
    settled(page, south.pool)
    page.fill("#id_description", "")
    page.reload()
    expect(page.locator("#draft-replaced")).to_be_visible()
    page.locator("#draft-replaced button").click()
    expect(page.locator("#draft-back")).to_be_visible()
    settled(page, south.pool)
    page.select_option("#id_pool", str(north.pool.pk))
    settled(page, north.pool)
    expect(page.locator("#changed-part")).to_contain_text("Back again: ")
    after = page.evaluate(VALUES, OF_THE_PAGE)
    assert {n: v for n, v in after.items() if n != "token"} == {
        n: v for n, v in before.items() if n != "token"
    }


def test_rdma_goes_with_its_spec_and_comes_back_with_it(page: Page, north: Place) -> None:
    page.check(f"input[name=spec][value='{north.spec(4)}']")
    expect(page.locator("#id_rdma")).not_to_be_checked()
    expect(page.locator("#id_rdma")).to_be_disabled()
    expect(page.locator("#changed-part")).to_contain_text("8 GPUs in every Worker")
    page.check(f"input[name=spec][value='{north.spec(8)}']")
    expect(page.locator("#id_rdma")).to_be_checked()
    page.check("#id_custom")
    page.fill("#id_custom_gpus", "13")
    expect(page.locator("#split")).to_have_text("13 = 8 + 5: 1 Worker of 8 GPUs and one of 5 GPUs")
    expect(page.locator("#id_rdma")).not_to_be_checked()


@pytest.mark.parametrize("where", ["here", "in another pool"])
def test_an_alternative_is_taken_over_and_taken_back(
    page: Page, north: Place, near: Pool, where: str
) -> None:
    occupy(north.pool, [4, 4, 4, 1])
    before = page.evaluate(VALUES, OF_THE_PAGE)
    elsewhere = where != "here"
    expect(page.locator(".ty-alternatives li")).to_have_count(3)
    row = page.locator(".ty-alternatives li", has_text="near" if elsewhere else "4 Workers of 4 GPUs")
    row.locator("button").click()
    expect(page.locator("#taken-over")).to_be_visible()
    expect(page.locator("#taken-over button")).to_be_focused()
    expect(page.locator("#promise")).to_contain_text("16 GPUs, start at once")
    expect(page.locator(".ty-alternatives")).to_have_count(0)
    expect(page.locator("#id_rdma")).not_to_be_checked()
    chosen = worker_spec(near, 8) if elsewhere else worker_spec(north.pool, 4)
    expect(page.locator(f"input[name=spec][value='{chosen.pk}']")).to_be_checked()
    expect(page.locator("#id_worker_count")).to_have_value("2" if elsewhere else "4")
    page.fill("#id_description", "typed meanwhile")

    page.locator("#taken-over button").click()
    expect(page.locator("#taken-over")).to_be_hidden()
    settled(page, north.pool)
    expect(page.locator("#promise")).to_contain_text("Will queue, place 1")
    expect(page.locator(f"input[name=spec][value='{north.spec(8)}']")).to_be_checked()
    assert page.evaluate(VALUES, OF_THE_PAGE) == before | {"description": ["typed meanwhile"]}


def test_whoever_goes_on_by_hand_needs_no_way_back(page: Page, north: Place) -> None:
    occupy(north.pool, [4, 4, 4, 1])
    page.locator(".ty-alternatives li button").first.click()
    expect(page.locator("#taken-over")).to_be_visible()
    page.fill("#id_worker_count", "1")
    expect(page.locator("#taken-over")).to_be_hidden()
