"""Where the trouble of a job may come from: which causes its state points to, and what holds of each now."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.translation import override

from jobs.findings import Reason
from jobs.forms.causes import Cause, Trouble, doubtful, suspected
from jobs.lifecycle import move
from jobs.models import Attempt, Job
from jobs.scheduling import queue_cycle
from jobs.states import State
from jobs.texts.causes import EXIT_CODES, HELP, TITLES, exit_text
from pools.models import Pool
from teams.models import Team, User
from tests.factories import make_job, make_team, make_user, occupy
from tests.jobs.pages import Page

HTMX = {"HX-Request": "true"}


def trouble(
    state: State,
    code: str = "",
    ran: float | None = None,
    workers: int = 1,
    named: tuple[Cause, ...] = (),
) -> Trouble:
    return Trouble(state, Reason(code) if code else None, ran, workers, named)


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        (trouble(State.QUEUED), [Cause.RESOURCES]),
        (trouble(State.DEPLOYING), [Cause.IMAGE, Cause.START]),
        (trouble(State.RUNNING, ran=9.0), []),
        (trouble(State.SUCCEEDED, ran=9.0), [Cause.HIDDEN, Cause.RESULTS]),
        (trouble(State.STOPPED, "stopped_by_user"), []),
        (trouble(State.FAILED, "image_missing"), [Cause.IMAGE]),
        (trouble(State.FAILED, "mount_missing"), [Cause.START]),
        (trouble(State.FAILED, "exit_code", ran=20.0), []),  # it may have trained three times as long before
        (trouble(State.FAILED, "exit_code", ran=20.0, workers=2), []),
        (trouble(State.FAILED, "exit_code", ran=7200.0), []),
        (trouble(State.FAILED, "signal", ran=7200.0, workers=4), []),
        (trouble(State.FAILED, "exit_code", ran=20.0, named=(Cause.START,)), [Cause.START]),
        (
            trouble(State.FAILED, "exit_code", named=(Cause.NETWORK, Cause.START)),
            [Cause.NETWORK, Cause.START],
        ),
        (trouble(State.FAILED, "out_of_memory", named=(Cause.START,)), [Cause.RESOURCES, Cause.START]),
        (trouble(State.FAILED, "worker_lost", ran=5.0), []),
        (trouble(State.FAILED), []),
        (trouble(State.FAILED, "hung", ran=7200.0), [Cause.HANG]),
        (trouble(State.FAILED, "hung", ran=20.0, workers=2), [Cause.HANG]),
        (trouble(State.FAILED, "drained", ran=7200.0), [Cause.RESOURCES]),
        (trouble(State.FAILED, "env_check"), [Cause.RESOURCES]),
    ],
    ids=str,
)
def test_the_state_points_to_causes(told: Trouble, wanted: list[Cause]) -> None:
    assert list(suspected(told)) == wanted


def test_only_a_warning_of_a_hidden_failure_makes_a_success_doubtful() -> None:
    assert doubtful([{"code": "exit_pipe", "level": "warning"}])
    assert not doubtful([{"code": "exit_cd", "level": "hint"}, {"code": "path_lost", "level": "warning"}])
    assert not doubtful([])


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_cause_has_its_words_and_its_help(language: str) -> None:
    with override(language):
        assert all(str(TITLES[cause]) for cause in Cause)
        assert all(exit_text(Reason("exit_code", {"exit_code": code})) for code in EXIT_CODES)
    assert set(HELP) == set(Cause)
    assert exit_text(Reason("exit_code", {"exit_code": 1})) == exit_text(None) == ""


@pytest.fixture
def alice(team: Team, client: Client) -> User:
    user = make_user(team)
    client.force_login(user)
    return user


def page_of(client: Client, job: Job) -> Page:
    return Page(client.get(f"/jobs/{job.key}/causes/", headers=HTMX))


@pytest.mark.django_db
def test_a_waiting_job_is_told_what_it_waits_for(client: Client, alice: User, pool: Pool) -> None:
    occupy(pool, [3, 3, 8])
    job = make_job(alice, pool, gpus=8, workers=2)
    assert Page(client.get(f"/jobs/{job.key}/")).by_id("causes").attrs.get("open", "no") == "no"
    first = page_of(client, job).all("li")[0]
    assert first.attrs["id"] == "cause-resources"
    assert "the largest free block on one node is 5 GPUs" in first.text


@pytest.mark.django_db
def test_a_job_that_failed_at_once_is_told_of_its_exit_code(client: Client, alice: User, pool: Pool) -> None:
    job = make_job(alice, pool, command="no-such-program")
    queue_cycle(pool.pk)
    Attempt.objects.filter(job=job).update(started_at=timezone.now())
    move([job.pk], State.DEPLOYING, State.RUNNING)
    reason = Reason("exit_code", {"rank": 0, "exit_code": 127})
    move([job.pk], State.RUNNING, State.FAILED, reason=reason)
    assert "open" in Page(client.get(f"/jobs/{job.key}/")).by_id("causes").attrs
    page = page_of(client, job)
    assert page.all("li")[0].attrs["id"] == "cause-start"
    assert "127: bash did not find a program" in page.by_id("cause-start").text
    assert "The last run took" in page.by_id("cause-start").text


@pytest.mark.parametrize(
    ("code", "data", "wanted"),
    [
        ("env_check", {"item": "storage"}, Cause.START),
        ("env_check", {"item": "rdma"}, Cause.NETWORK),
        ("deploy_timeout", {"step": "pull_image"}, Cause.IMAGE),
        ("deploy_timeout", {"step": "allocate"}, Cause.RESOURCES),
    ],
)
def test_a_reason_tells_more_by_its_data(code: str, data: dict[str, str], wanted: Cause) -> None:
    assert suspected(Trouble(State.FAILED, Reason(code, data), None, 1)) == (wanted,)


@pytest.mark.django_db
def test_a_job_that_has_its_gpus_is_not_told_how_it_would_queue(
    client: Client, alice: User, pool: Pool
) -> None:
    job = make_job(alice, pool, gpus=8, workers=2)
    queue_cycle(pool.pk)
    make_job(alice, pool, gpus=8, workers=2)
    row = page_of(client, job).by_id("cause-resources")
    assert (row.attrs["data-standing"], "It has its resources: 16 GPUs." in row.text) == ("ok", True)
    assert "wait" not in row.text


@pytest.mark.django_db
def test_a_failure_that_names_its_cause_is_told_there_without_what_was_in_order(
    client: Client, alice: User, pool: Pool
) -> None:
    job = make_job(alice, pool)
    queue_cycle(pool.pk)
    reason = Reason("image_missing", {"rank": 0, "image": "reg.local/none:1"})
    move([job.pk], State.DEPLOYING, State.FAILED, reason=reason)
    row = page_of(client, job).all("li")[0]
    assert (row.attrs["id"], row.attrs["data-standing"]) == ("cause-image", "failed")
    assert "reg.local/none:1" in row.text
    assert "offered here" not in row.text


@pytest.mark.django_db
def test_what_was_retired_since_is_told(client: Client, alice: User, pool: Pool) -> None:
    job = make_job(alice, pool)
    job.image.retired_at = timezone.now()
    job.image.save()
    row = page_of(client, job).by_id("cause-image")
    assert row.attrs["data-standing"] == "attention"
    assert "Would be refused now" in row.text


@pytest.mark.django_db
def test_a_doubtful_success_is_looked_into_and_a_plain_one_is_not(
    client: Client, alice: User, pool: Pool
) -> None:
    for command, asked in (("python train.py | tee log; true", True), ("true", False)):
        job = make_job(alice, pool, command=command)
        queue_cycle(pool.pk)
        move([job.pk], State.DEPLOYING, State.RUNNING)
        move([job.pk], State.RUNNING, State.SUCCEEDED)
        shown = [e for e in Page(client.get(f"/jobs/{job.key}/")).elements if e.attrs.get("id") == "causes"]
        assert bool(shown) is asked


@pytest.mark.django_db
def test_it_is_a_page_of_its_own_too_and_nothing_for_strangers(
    client: Client, alice: User, pool: Pool
) -> None:
    job = make_job(alice, pool)
    assert client.get(f"/jobs/{job.key}/causes/").status_code == 200
    client.force_login(make_user(make_team()))
    assert client.get(f"/jobs/{job.key}/causes/").status_code == 404
