"""Variables of the form in a browser: rows and text, what is covered, what a draft keeps, and programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from jobs.models import Job
from jobs.spec import EnvVar
from pools.models import Pool
from teams.models import User
from teams.vault import decrypt
from tests.e2e.browser import in_browser, signed_in_page
from tests.factories import make_image, make_job, make_pool, make_team, make_user, worker_spec

pytestmark = [*in_browser, pytest.mark.slow]
CREATE = ".ty-confirm .btn-primary"
CUT = "e => getComputedStyle(e).webkitTextSecurity"


@pytest.fixture
def pool() -> Pool:
    pool = make_pool(make_team())
    make_image(pool.zone)
    return pool


@pytest.fixture
def alice(pool: Pool) -> User:
    return make_user(pool.grants.get().team)


@pytest.fixture
def page(browser: Browser, live_server: Any, alice: User) -> Iterator[Page]:
    with signed_in_page(browser, live_server.url, alice, "/jobs/create/") as page:
        yield page


def row(page: Page, number: int, name: str, value: str, private: bool = False) -> None:
    if number:
        page.click("[data-add-row=env-rows]")
    page.locator("[name=env_name]").nth(number).fill(name)
    page.locator("[name=env_value]").nth(number).fill(value)
    page.locator("[name=env_private]").nth(number).set_checked(private)


def rows(page: Page) -> list[list[Any]]:
    found: list[list[Any]] = page.evaluate(
        "[...document.querySelectorAll('.ty-variable')].map(r => ["
        "r.querySelector('[name=env_name]').value, r.querySelector('[name=env_value]').value,"
        "r.querySelector('[name=env_private]').checked]).filter(r => r[0])"
    )
    return found


def switch(page: Page, way: str) -> None:
    with page.expect_response("**/jobs/variables/"):
        page.click(f"#env-as-{way}")
    expect(page.locator(f"#env-as-{way}")).to_have_attribute("aria-pressed", "true")


def test_rows_and_text_and_back(page: Page, pool: Pool) -> None:
    value = " two\nlines; '\"； a=b "
    row(page, 0, "A", value)
    row(page, 1, "KEY", "sekret-4711", private=True)
    row(page, 2, "B", "1")
    switch(page, "text")
    expect(page.locator("#env-as-text")).to_be_focused()
    assert page.input_value("#id_env_text").endswith(";B=1")
    assert rows(page) == [["KEY", "sekret-4711", True]]
    page.fill("#id_env_text", page.input_value("#id_env_text") + ";NOVALUE")
    switch_refused(page)
    page.fill("#id_env_text", page.input_value("#id_env_text").replace(";NOVALUE", ";C=3"))
    switch(page, "rows")
    assert rows(page) == [
        ["A", value, False],
        ["B", "1", False],
        ["C", "3", False],
        ["KEY", "sekret-4711", True],
    ]

    page.locator(".ty-variable").nth(1).locator("[data-remove-row]").click()
    page.check(f"input[name=spec][value='{worker_spec(pool, 1).pk}']")
    page.fill("#id_command", "true")
    page.fill("#id_name", "a job")
    expect(page.locator("#promise")).to_contain_text("at once")
    page.click(CREATE)
    page.wait_for_url("**/jobs/jo-*/")
    job = Job.objects.get()
    assert [(v["name"], v["value"], v["private"]) for v in job.request["env"]] == [
        ("A", value, False),
        ("C", "3", False),
        ("KEY", None, True),
    ]
    assert decrypt(job.private_values.get().ciphertext) == "sekret-4711"


def switch_refused(page: Page) -> None:
    page.click("#env-as-rows")
    expect(page.locator("#variables")).to_contain_text("Still text")
    expect(page.locator("#notes-env_text")).to_contain_text("“NOVALUE”")
    expect(page.locator("#id_env_text")).to_have_attribute("aria-invalid", "true")


def test_a_private_value_is_covered_while_nobody_edits_it(page: Page) -> None:
    row(page, 0, "A", "plain")
    row(page, 1, "KEY", "sekret-4711", private=True)
    value = page.locator("[name=env_value]")
    assert [value.nth(n).evaluate(CUT) for n in range(2)] == ["none", "disc"]
    value.nth(1).focus()
    assert value.nth(1).evaluate(CUT) == "none"


@pytest.mark.parametrize("way", ["rows", "text"])
def test_a_draft_keeps_all_but_private_values(page: Page, way: str) -> None:
    row(page, 0, "KEY", "sekret-4711", private=True)
    row(page, 1, "A", "x;y")
    row(page, 2, "OTHER", "hush", private=True)
    switch(page, way) if way == "text" else None
    page.fill("#id_name", "typed")
    expect(page.locator("#notes-name")).to_have_text("")
    page.reload()
    expect(page.locator("#draft-back")).to_be_visible()
    expect(page.locator(f"#env-as-{way}")).to_have_attribute("aria-pressed", "true")
    found = rows(page)
    if way == "text":
        expect(page.locator("#id_env_text")).to_have_value('A="x;y"')
        assert found == [["KEY", "", True], ["OTHER", "", True]]
    else:
        expect(page.locator("#id_env_text")).to_be_disabled()
        assert found == [["KEY", "", True], ["A", "x;y", False], ["OTHER", "", True]]
    kept = page.evaluate("JSON.stringify(sessionStorage)")
    assert "sekret" not in kept
    assert "hush" not in kept


def test_what_is_kept_from_a_team_mates_job_can_be_typed_over(page: Page, pool: Pool, alice: User) -> None:
    bob = make_user(pool.grants.get().team)
    job = make_job(bob, pool, env=[EnvVar("KEY", "sekret-4711", private=True)])
    page.goto(f"/jobs/{job.key}/")
    page.get_by_role("link", name="Clone").click()
    value = page.locator("[name=env_value]").first
    expect(value).to_have_attribute("placeholder", f"kept from {job.key}, not shown")
    assert "sekret" not in page.content()
    page.fill("#id_command", "echo $KEY")
    expect(page.locator("#notes-env")).to_contain_text("Enter a value of your own")
    value.fill("own")
    expect(page.locator("#notes-env")).to_have_text("")
    value.fill("")
    expect(page.locator("#notes-env")).to_contain_text("Enter a value of your own")
    value.fill("own")
    expect(page.locator("#promise")).to_contain_text("at once")
    page.click(CREATE)
    page.wait_for_url("**/jobs/jo-*/")
    kept = Job.objects.latest("pk").private_values.get()
    assert (decrypt(kept.ciphertext), kept.owner) == ("own", alice)


def test_the_programs_are_there_once_opened_and_follow_the_form(page: Page, pool: Pool) -> None:
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url) if "snippets" in one.url else None)
    page.check(f"input[name=spec][value='{worker_spec(pool, 1).pk}']")
    page.fill("#id_command", "echo 'a'")
    expect(page.locator("#total-gpus")).to_have_text("1")
    assert asked == []
    page.click("#snippets > summary")
    expect(page.locator("#snippet-curl")).to_contain_text("<<'END'")
    page.fill("#id_worker_count", "3")
    expect(page.locator("#total-gpus")).to_have_text("3")
    expect(page.locator("#snippet-body")).to_contain_text('"worker_count": 3')
    expect(page.locator("#snippets")).to_have_attribute("open", "")
    body = json.loads(page.locator("#snippet-body").text_content() or "")
    assert (body["command"], body["worker_count"]) == ("echo 'a'", 3)
    page.click("#ranks > summary")
    page.check("input[name=framework][value=pytorch_ddp]")
    expect(page.locator("#ranks")).to_contain_text("WORLD_SIZE")
    expect(page.locator("#ranks")).to_have_attribute("open", "")
