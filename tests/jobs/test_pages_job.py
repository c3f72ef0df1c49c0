"""The page of one job: what changes while it lives, how it ended, its progress, and stopping it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.test import Client
from django.utils import timezone

from jobs.findings import Reason
from jobs.lifecycle import move
from jobs.models import Job, Worker
from jobs.scheduling import queue_cycle
from jobs.spec import EnvVar
from jobs.states import State
from jobs.views.parts import Lasting, rendered
from pools.models import Pool
from teams.models import Team, User
from tests.factories import make_job, make_team, make_user, occupy
from tests.jobs.pages import Page

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice(team: Team, client: Client) -> User:
    user = make_user(team)
    client.force_login(user)
    return user


def test_a_waiting_job_tells_its_place_and_why(client: Client, alice: User, pool: Pool) -> None:
    occupy(pool, [3, 3, 8])
    make_job(alice, pool, gpus=8, workers=2)
    job = make_job(alice, pool, gpus=8)
    source = client.get(f"/jobs/{job.key}/").content.decode()
    assert "Place 2 in the queue." in source
    assert "1 job with 16 GPUs ahead." in source
    assert "the largest free block on one node is 5 GPUs" in source


def test_a_waiting_job_tells_until_when_it_waits(client: Client, alice: User, pool: Pool) -> None:
    occupy(pool, [8, 8, 8])
    job = make_job(alice, pool, gpus=8, max_queue_minutes=3)
    endless = make_job(alice, pool, gpus=8)
    until = timezone.localtime(Job.objects.get(pk=job.pk).queue_until)
    shown = " ".join(Page(client.get(f"/jobs/{job.key}/")).by_id("stops-waiting").text.split())
    assert shown.startswith(f"Will be stopped at {until:%Y-%m-%d %H:%M:%S %Z} (in 3 minutes) if it has not")
    assert "stops-waiting" not in client.get(f"/jobs/{endless.key}/").content.decode()
    for later, said in ((61.0, "(in 2 minutes)"), (59.0, "(in 1 minute)"), (7300.0, "(in 2 h 1 m)")):
        Job.objects.filter(pk=job.pk).update(queue_until=timezone.now() + timedelta(seconds=later))
        assert said in Page(client.get(f"/jobs/{job.key}/")).by_id("stops-waiting").text
    Job.objects.filter(pk=job.pk).update(queue_until=timezone.now())
    assert "it is being stopped" in Page(client.get(f"/jobs/{job.key}/")).by_id("stops-waiting").text


def test_a_waiting_job_tells_who_holds_the_gpus(client: Client, alice: User, team: Team, pool: Pool) -> None:
    other = make_team()
    pool.grants.create(team=other)
    make_job(alice, pool, gpus=8)
    make_job(make_user(other), pool, gpus=8, workers=2)
    queue_cycle(pool.pk)
    job = make_job(alice, pool, gpus=8, workers=2)
    shown = Page(client.get(f"/jobs/{job.key}/")).by_id("held-by")
    said = " ".join(shown.text.split())
    assert said == "In use in this pool: 8 GPUs by your team, 16 GPUs by others. Occupancy"
    assert f'href="/jobs/pools/{pool.pk}/occupancy/"' in client.get(f"/jobs/{job.key}/").content.decode()
    Pool.objects.update(paused=True)
    assert "held-by" not in client.get(f"/jobs/{job.key}/").content.decode()


def test_the_live_part_is_only_sent_when_it_changed(client: Client, alice: User, pool: Pool) -> None:
    job = make_job(alice, pool, gpus=2, workers=2)
    ask = polled(Page(client.get(f"/jobs/{job.key}/")))
    assert client.get(ask).status_code == 204

    queue_cycle(pool.pk)
    changed = Page(client.get(ask))
    assert "Deploying" in changed.source
    assert "Allocate resources" in changed.source
    assert len(changed.all("a", hx_target="#log")) == 2
    assert client.get(polled(changed)).status_code == 204

    Job.objects.filter(pk=job.pk).update(deploy_step="pull_image")
    move([job.pk], State.DEPLOYING, State.RUNNING)
    move([job.pk], State.RUNNING, State.SUCCEEDED)
    ended = Page(client.get(polled(changed)))
    assert "hx-get" not in ended.by_id("poll").attrs
    assert not [e for e in ended.elements if e.attrs.get("id") == "stop"]


def polled(page: Page) -> str:
    return page.by_id("poll").attrs["hx-get"] or ""


def test_only_changed_parts_are_sent(client: Client, alice: User, pool: Pool) -> None:
    job = make_job(alice, pool)
    queue_cycle(pool.pk)
    asked = polled(Page(client.get(f"/jobs/{job.key}/")))
    Job.objects.filter(pk=job.pk).update(deploy_step="pull_image")
    changed = Page(client.get(asked))
    assert [e.attrs["hx-swap-oob"] for e in changed.elements if "hx-swap-oob" in e.attrs] == [
        "innerHTML:#live-timeline"
    ]
    Job.objects.filter(pk=job.pk).update(created_at=job.created_at - timedelta(hours=1))
    assert "live-events" not in client.get(polled(changed)).content.decode()


@pytest.mark.parametrize(("ticks", "news"), [(True, False), (False, True)])
def test_time_that_the_page_counts_on_is_no_news(ticks: bool, news: bool) -> None:
    one, later = (rendered("jobs/lasting.html", {"lasting": Lasting(seconds, ticks)}) for seconds in (59, 60))
    assert one[0] != later[0]
    assert (one[1] != later[1]) is news


def placed(alice: User, pool: Pool, **fields: Any) -> Job:
    """A job that runs."""
    job = make_job(alice, pool, **fields)
    queue_cycle(pool.pk)
    now = timezone.now()
    move([job.pk], State.DEPLOYING, State.RUNNING)
    job.attempts.update(placed_at=now - timedelta(seconds=95), started_at=now - timedelta(seconds=90))
    Worker.objects.filter(attempt__job=job).update(started_at=now)
    job.refresh_from_db()
    return job


def fail(job: Job, rank: int) -> None:
    failure = {"rank": rank, "exit_code": 3, "signal": None}
    attempt = job.attempts.get()
    attempt.workers.filter(rank=rank).update(exit_code=3, ended_at=timezone.now())
    job.attempts.update(first_failure=failure)
    reason = Reason("exit_code", {"rank": rank, "exit_code": 3})
    move([job.pk], State.RUNNING, State.FAILED, reason=reason)


def test_a_failure_names_the_first_worker_and_shows_its_last_lines(
    client: Client, alice: User, pool: Pool
) -> None:
    job = placed(alice, pool, workers=3)
    fail(job, rank=2)
    page = Page(client.get(f"/jobs/{job.key}/"))
    (box,) = page.all("section", class_="ty-box-bad")
    node = Worker.objects.get(attempt__job=job, rank=2).node_name
    assert "Worker 2 failed first, with exit code 3" in box.text
    assert node in box.text
    assert page.all("a", href=f"/jobs/{job.key}/workers/2/log/?attempt=1")
    (tail,) = page.all("div", class_="ty-tail")
    assert tail.attrs["hx-get"] == f"/jobs/{job.key}/workers/2/log/?attempt=1&tail=20"
    assert "last 20 lines" in box.text


def test_workers_that_failed_come_first_and_most_are_folded(client: Client, alice: User, pool: Pool) -> None:
    job = placed(alice, pool, gpus=1, workers=20)
    workers = job.attempts.get().workers
    workers.filter(rank=4).update(exit_code=1)
    workers.filter(rank=5).update(signal=15)  # ended by the platform, as all others
    fail(job, rank=17)
    page = Page(client.get(f"/jobs/{job.key}/"))
    ranks = [e.text.strip() for e in page.all("td") if e.attrs.get("data-label") == "Worker"]
    assert ranks[:3] == ["17", "4", "0"]
    assert len(ranks) == 20
    assert page.by_id("folded-workers").text.count("Log Worker") == 12


def test_the_timeline_tells_the_phases_in_order(client: Client, alice: User, pool: Pool) -> None:
    job = placed(alice, pool)
    page = Page(client.get(f"/jobs/{job.key}/"))
    phases = [e.text.split() for e in page.all("li", class_="ty-phase")]
    assert [phase[0] for phase in phases] == ["Queue", "Deploy", "Run"]
    assert phases[1][1:3] == ["5", "s"]
    assert "(now)" in phases[2]
    fail(job, rank=0)
    phases = [e.text.split() for e in Page(client.get(f"/jobs/{job.key}/")).all("li", class_="ty-phase")]
    assert [phase[0] for phase in phases] == ["Queue", "Deploy", "Run", "Failed"]


def test_progress_is_a_part_or_a_page(client: Client, alice: User, pool: Pool) -> None:
    occupy(pool, [8, 8, 8])
    job = make_job(alice, pool, gpus=2)
    address = f"/jobs/{job.key}/progress/"
    page = client.get(address)
    assert "<!doctype" in page.content.decode().lower()
    part = Page(client.get(address, headers={"HX-Request": "true"}))
    assert "<!doctype" not in part.source.lower()
    assert "Place 1 in the queue." in part.source
    assert "no GPU is left now" in part.source
    asked = part.by_id("progress-body").attrs["hx-get"] or ""
    assert client.get(asked, headers={"HX-Request": "true"}).status_code == 204
    move([job.pk], State.QUEUED, State.STOPPED, reason=Reason("stopped_by_user"))
    ended = Page(client.get(asked, headers={"HX-Request": "true"}))
    assert "Stopped on request." in ended.source
    assert "hx-get" not in ended.by_id("progress-body").attrs
    assert Client().get(address, headers={"HX-Request": "true"}).status_code == 401
    stranger = Client()
    stranger.force_login(make_user(make_team()))
    assert stranger.get(address).status_code == 404


def test_the_question_before_a_stop(client: Client, alice: User, pool: Pool) -> None:
    job = placed(alice, pool, stop_grace_seconds=7)
    address = f"/jobs/{job.key}/stop/"
    page = Page(client.get(address))
    assert "are killed after 7 seconds" in page.source
    assert "What it wrote to mounted volumes stays." in page.source
    assert "They are kept after a failure only" not in page.source
    assert Job.objects.get().stop_requested_at is None
    part = client.get(
        address, headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/jobs/?state=running"}
    )
    assert "<!doctype" not in part.content.decode().lower()
    assert Page(part).fields() | {"next": ""} == {"next": ""}
    sent = {"next": "http://testserver/jobs/?state=running"}
    assert f'value="{sent["next"]}"' in part.content.decode()
    assert client.post(address, sent)["Location"] == sent["next"]
    assert client.post(address, {"next": "https://elsewhere.example/"})["Location"] == f"/jobs/{job.key}/"
    assert Job.objects.get().events.filter(code="stop_requested").count() == 1


def test_before_a_stop_it_is_said_what_becomes_of_files(client: Client, alice: User, pool: Pool) -> None:
    job = placed(alice, pool, keep_after_failure_minutes=60)
    source = client.get(f"/jobs/{job.key}/stop/").content.decode()
    assert "Files on the Workers' own disks are lost." in source
    assert "They are kept after a failure only, not after a stop." in source
    waiting = make_job(alice, pool)
    assert "own disks" not in client.get(f"/jobs/{waiting.key}/stop/").content.decode()


def test_an_empty_description_and_a_short_command_stand_in_one_line(
    client: Client, alice: User, pool: Pool
) -> None:
    def page(command: str) -> Page:
        return Page(client.get(f"/jobs/{make_job(alice, pool, command=command).key}/"))

    short, long = page("true"), page("true\nfalse")
    assert [e.text for e in short.all("span", class_="ty-description")] == ["–"]
    folded = [[e for e in page.all("details") if "class" not in e.attrs] for page in (short, long)]
    assert [len(details) for details in folded] == [0, 1]


def test_the_log_of_the_worker_that_failed_first_is_opened(client: Client, alice: User, pool: Pool) -> None:
    def opened(job: Job) -> str | None:
        return Page(client.get(f"/jobs/{job.key}/")).by_id("log").attrs["hx-get"]

    job = make_job(alice, pool, workers=2)
    queue_cycle(pool.pk)
    move([job.pk], State.DEPLOYING, State.RUNNING)
    assert opened(job) == f"/jobs/{job.key}/workers/0/log/"
    reason = Reason("exit_code", {"rank": 1, "exit_code": 3})
    move([job.pk], State.RUNNING, State.FAILED, reason=reason)
    assert opened(job) == f"/jobs/{job.key}/workers/1/log/"


def test_values_that_no_key_opens_are_hidden(
    client: Client, alice: User, pool: Pool, settings: Any, api: Any
) -> None:
    job = make_job(alice, pool, env=[EnvVar("TOKEN", "sekret", private=True)])
    assert "sekret" in client.get(f"/jobs/{job.key}/").content.decode()
    settings.FERNET_KEYS = [Fernet.generate_key().decode()]
    assert "••••••" in client.get(f"/jobs/{job.key}/").content.decode()
    shown = api(alice).get(f"/api/v1/jobs/{job.key}/").json()
    assert shown["env"] == [{"name": "TOKEN", "value": None, "private": True}]


def test_stopping(client: Client, alice: User, pool: Pool, team: Team) -> None:
    job = make_job(alice, pool)
    assert client.get(f"/jobs/{job.key}/stop/").status_code == 200
    assert Job.objects.get().state == State.QUEUED
    answer = client.post(f"/jobs/{job.key}/stop/", follow=True)
    assert "Stopped." in answer.content.decode()
    again = client.post(f"/jobs/{job.key}/stop/", follow=True)
    assert "had ended already" in again.content.decode()
    assert Job.objects.get().events.filter(code="stopped").count() == 1


def test_team_mates_see_but_may_not_stop(alice: User, pool: Pool, team: Team) -> None:
    job = make_job(alice, pool)
    mate = Client()
    mate.force_login(make_user(team))
    page = Page(mate.get(f"/jobs/{job.key}/"))
    assert not [e for e in page.elements if e.attrs.get("id") == "stop"]
    assert mate.post(f"/jobs/{job.key}/stop/").status_code == 403
    admin = Client()
    admin.force_login(make_user(team, admin=True))
    assert admin.post(f"/jobs/{job.key}/stop/").status_code == 302
    assert Job.objects.get().state == State.STOPPED
