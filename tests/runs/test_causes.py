"""Where to look, of a job whose log names the cause: its facts come first, and nothing contradicts them."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from jobs.findings import Reason
from jobs.forms.causes import Cause
from jobs.lifecycle import move
from jobs.models import Attempt, Job
from jobs.scheduling import queue_cycle
from jobs.spec import MountSpec
from jobs.states import State
from runs.cause_views import OF_SYMPTOM
from runs.registry import engine_of
from runs.symptoms import SIGNS
from tests.factories import make_job, make_pool, make_team, make_user, make_volume
from tests.jobs.pages import Page

HTMX = {"HX-Request": "true"}
MISSING = "python: can't open file '/mnt/public/nowhere/train.py': [Errno 2] No such file or directory\n"
EXIT = Reason("exit_code", {"rank": 0, "exit_code": 2})

pytestmark = pytest.mark.django_db
Fails = Callable[..., Page]


@pytest.fixture
def fails(client: Client, settings: Any, tmp_path: Path) -> Any:
    """Opens the list of a job that ended so, with this as its log."""
    settings.RUNS_DIR = tmp_path
    engine_of.cache_clear()
    team = make_team()
    user = make_user(team)
    client.force_login(user)
    pool = make_pool(team)
    mount = MountSpec(make_volume(pool.zone, team).pk, "/mnt/public")

    def made(log: str, reason: Reason = EXIT, *, ran: float = 20.0, workers: int = 1) -> Page:
        command = "python /mnt/public/nowhere/train.py"
        job = make_job(user, pool, gpus=1, workers=workers, command=command, mounts=(mount,))
        queue_cycle(pool.pk)
        folder = tmp_path / job.key / "1" / "0"
        os.makedirs(folder)
        (folder / "log").write_text(log)
        Attempt.objects.filter(job=job).update(started_at=timezone.now() - timedelta(seconds=ran))
        move([job.pk], State.DEPLOYING, State.RUNNING)
        move([job.pk], State.RUNNING, State.FAILED, reason=reason)
        assert Job.objects.get(pk=job.pk).state == State.FAILED
        return Page(client.get(f"/jobs/{job.key}/causes/", headers=HTMX))

    yield made
    engine_of.cache_clear()


def test_every_symptom_belongs_to_a_cause_or_to_none_on_purpose() -> None:
    assert set(OF_SYMPTOM) == {sign.code for sign in SIGNS}


def test_a_path_that_the_log_misses_is_not_said_to_be_well(fails: Fails) -> None:
    page = fails(MISSING)
    first = page.all("li")[0]
    assert (first.attrs["id"], first.attrs["data-standing"]) == ("cause-start", "failed")
    assert "look here first" in first.text
    assert "/mnt/public/nowhere/train.py is not there." in first.text
    assert "lies below a mounted volume" not in page.source
    assert [li.attrs["id"] for li in page.all("li", class_="ty-cause-suspect")] == ["cause-start"]


def test_what_is_in_order_is_folded_once_the_cause_is_known(fails: Fails) -> None:
    page = fails(MISSING)
    (folded,) = page.all("details", class_="ty-cause-settled")
    assert "things are in order" in folded.text
    assert "cause-start" not in [li.attrs["id"] for li in page.all("li") if li.attrs["data-standing"] == "ok"]
    assert "open" not in folded.attrs
    assert not fails("nothing that is known\n").all("details")


def test_a_failure_of_its_own_points_nowhere(fails: Fails) -> None:
    page = fails("AssertionError: loss is nan\n")
    assert not page.all("li", class_="ty-cause-suspect")
    assert "Neither the reason nor the end of the log points to one of these." in page.source
    assert "look here first" not in page.source


def test_room_in_the_pool_is_nothing_to_a_job_that_ended(fails: Fails) -> None:
    for log in (MISSING, "AssertionError\n"):
        page = fails(log)
        assert "can start at once" not in page.source
        assert "It shows success" not in page.source


def test_a_job_that_hung_is_led_to_its_stacks(fails: Fails) -> None:
    page = fails("epoch 1\n", Reason("hung", {"seconds": 60}), workers=2)
    first = page.all("li")[0]
    assert first.attrs["id"] == "cause-hang"
    assert "no Worker had written anything for 60 s" in first.text
    assert str(page.by_id("cause-stacks").attrs["href"]).endswith("/stacks/")
    assert [li.attrs["id"] for li in page.all("li", class_="ty-cause-suspect")] == ["cause-hang"]


@pytest.mark.parametrize(
    ("ran", "title"), [(20.0, "Before the first batch"), (7200.0, "Paths, variables, packages")]
)
def test_only_an_early_failure_is_one_before_the_first_batch(fails: Fails, ran: float, title: str) -> None:
    assert title in " ".join(fails(MISSING, ran=ran).by_id("cause-start").text.split())


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory.\n", Cause.RESOURCES),
        ("OSError: [Errno 98] Address already in use\n", Cause.NETWORK),
        ("OSError: [Errno 28] No space left on device\n", Cause.RESULTS),
        ("ModuleNotFoundError: No module named 'einops'\n", Cause.START),
    ],
)
def test_each_kind_of_fact_stands_at_its_cause(fails: Fails, log: str, cause: Cause) -> None:
    first = fails(log).all("li")[0]
    assert (first.attrs["id"], first.attrs["data-standing"]) == (f"cause-{cause}", "failed")
