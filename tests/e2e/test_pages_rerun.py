"""Rerun and modified rerun in a real browser: one job for two clicks, and a verdict that follows the form."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from jobs.lifecycle import move
from jobs.models import Job
from jobs.spec import EnvVar
from jobs.states import State
from teams.models import User
from tests.e2e.browser import in_browser, signed_in_page
from tests.factories import make_job, make_pool, make_team, make_user, occupy, worker_spec

pytestmark = [*in_browser, pytest.mark.slow]


@pytest.fixture
def alice() -> User:
    return make_user(make_team())


@pytest.fixture
def job(alice: User) -> Job:
    """It has ended; two Workers of 8 GPUs with RDMA."""
    pool = make_pool(alice.memberships.get().team, network="roce")
    job = make_job(
        alice, pool, gpus=8, workers=2, rdma=True, name="first", env=[EnvVar("KEY", "sekret", True)]
    )
    Job.objects.update(state=State.FAILED)
    return job


def test_two_clicks_make_one_job(browser: Browser, live_server: Any, alice: User, job: Job) -> None:
    with signed_in_page(browser, live_server.url, alice, f"/jobs/{job.key}/") as page:
        page.get_by_role("button", name="Rerun", exact=True).dblclick()
        expect(page.locator("#origin")).to_contain_text("Rerun · first")
        expect(page.locator("#origin")).to_contain_text("used again")
        assert Job.objects.count() == 2
        page.reload()
        assert Job.objects.count() == 2

        page.goto(f"{live_server.url}/jobs/")
        row = page.locator("tr", has_text=job.key)
        row.locator("summary").click()
        row.get_by_role("button", name="Rerun").click()
        expect(page.locator("#origin")).to_contain_text(job.key)
    assert Job.objects.filter(origin=job, origin_kind="rerun").count() == 2


def test_a_fix_of_the_command_is_made_and_undone(
    browser: Browser, live_server: Any, alice: User, job: Job
) -> None:
    piped = "cd /mnt/public\npython t.py | tee log\ndate"
    with signed_in_page(browser, live_server.url, alice, f"/jobs/{job.key}/modify/") as page:
        command = page.locator("#id_command")
        command.fill(piped)
        for place in ("#notes-command", "#summary"):
            fix = page.locator(f"{place} .ty-fix", has_text="pipefail")
            fix.locator("summary").click()
            fix.locator("button").click()
            expect(command).to_have_value(re.compile("pipefail"))
            expect(fix).to_have_count(0)
            expect(page.locator("#fix-said")).to_have_text("Changed.")
            page.locator(".ty-fixed:visible button").click()
            expect(command).to_have_value(piped)
            expect(fix).to_have_count(1)
        page.locator("#summary a[data-line]").first.click()
        expect(command).to_be_focused()


def test_the_verdict_follows_the_form_and_is_kept(
    browser: Browser, live_server: Any, alice: User, job: Job
) -> None:
    four = worker_spec(job.pool, 4).pk
    with signed_in_page(browser, live_server.url, alice, f"/jobs/{job.key}/modify/") as page:
        expect(page.locator("#total-gpus")).to_have_text("16")
        page.locator(f"[name=spec][value='{four}']").check(force=True)
        expect(page.locator("#follows")).to_have_text("RDMA goes off")
        expect(page.locator("#total-gpus")).to_have_text("8")
        page.fill("#id_worker_count", "900")
        expect(page.locator("#summary")).to_contain_text("Can never run here")
        page.fill("#id_worker_count", "3")
        expect(page.locator("#promise")).to_contain_text("12 GPUs, start at once")
        page.check("#id_hang_detection", force=True)
        expect(page.locator("#id_hang_timeout_seconds")).to_be_visible()
        page.fill("#id_command", "python train.py")
        page.click("#modify-yes")
        origin = page.locator("#origin")
        expect(origin).to_contain_text("Modified rerun · first")
        expect(origin).to_contain_text("8 GPU → 4 GPU")
        expect(origin).to_contain_text("+python train.py")
        origin.get_by_role("link", name="first").click()
        expect(page.locator("#origin")).to_contain_text("Made from this job:")
    new = Job.objects.latest("pk")
    assert (new.spec_asked.worker_count, new.spec_asked.rdma) == (3, False)
    assert new.private_values.get().ciphertext == job.private_values.get().ciphertext


def test_a_waiting_job_gives_its_place_or_has_started(
    browser: Browser, live_server: Any, alice: User, job: Job
) -> None:
    occupy(job.pool, [8, 8, 8, 8])
    waits = make_job(alice, job.pool, gpus=8, name="waits")
    late = make_job(alice, job.pool, gpus=8, name="late")
    with signed_in_page(browser, live_server.url, alice, f"/jobs/{waits.key}/") as page:
        page.click("text=Stop and modify")
        expect(page.locator("#replaced")).to_contain_text("waits")
        page.fill("#id_worker_count", "2")
        expect(page.locator("#total-gpus")).to_have_text("16")
        page.click("text=Stop and create")
        expect(page.locator("#origin")).to_contain_text("Stopped and modified · waits")
        waits.refresh_from_db()
        assert waits.state == State.STOPPED

        page.goto(f"{live_server.url}/jobs/create/?from={late.key}&replace=1")
        page.fill("#id_name", "later")
        move([late.pk], State.QUEUED, State.DEPLOYING)
        page.click("text=Stop and create")
        expect(page.locator("#changed")).to_contain_text("has started meanwhile")
        expect(page.locator("#id_name")).to_have_value("later")
        expect(page.locator("#replaced")).to_have_count(0)
    assert not Job.objects.filter(name="later").exists()
