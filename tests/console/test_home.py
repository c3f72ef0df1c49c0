"""The start page: counts, what lives, what ended, the pools, the first steps, and what moves on it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.findings import Reason
from jobs.lifecycle import move
from jobs.models import Job
from jobs.scheduling import queue_cycle
from jobs.states import State
from pools.models import Pool, WorkerSpec
from teams.models import Team, User
from tests.factories import make_job, make_pool, make_team, make_user, occupy
from tests.jobs.pages import Page

pytestmark = pytest.mark.django_db
ODD = '训练-🚀 "q" <img src=x onerror=alert(1)> ../../x (1)'


@pytest.fixture
def team() -> Team:
    return make_team()


@pytest.fixture
def alice(team: Team, client: Client) -> User:
    user = make_user(team)
    client.force_login(user)
    return user


@pytest.fixture
def pool(team: Team) -> Pool:
    return make_pool(team)


def run(job: Job) -> None:
    queue_cycle(job.pool_id)
    move([job.pk], State.DEPLOYING, State.RUNNING)


def fail(job: Job, exit_code: int = 3) -> None:
    run(job)
    reason = Reason("exit_code", {"rank": 0, "exit_code": exit_code})
    move([job.pk], State.RUNNING, State.FAILED, reason=reason)


def home(client: Client) -> Page:
    return Page(client.get("/"))


def named(page: Page) -> set[str]:
    """The jobs that a page links to."""
    return {e.text for e in page.all("a") if (e.attrs.get("href") or "").startswith("/jobs/jo-")}


def asked(page: Page) -> str:
    """The address that the page polls."""
    return page.by_id("home-poll").attrs["hx-get"] or ""


def test_signing_in_comes_first_and_leads_here(client: Client) -> None:
    user = make_user(make_team())
    assert client.get("/")["Location"] == "/accounts/login/?next=/"
    signed = client.post("/accounts/login/", {"username": user.username, "password": "demo"})
    assert signed["Location"] == "/"
    assert client.get("/home/live/").status_code == 200
    assert Client().get("/home/live/").status_code == 401


def test_counts_are_the_persons_and_the_teams_and_lead_to_the_list(
    client: Client, alice: User, pool: Pool, team: Team
) -> None:
    run(make_job(alice, pool))
    make_job(alice, pool, gpus=8, workers=4)
    mate = make_user(team)
    fail(make_job(mate, pool))
    make_job(mate, pool, gpus=8, workers=4)
    page = home(client)
    for state, mine, all_jobs in (
        ("queued", 1, 2),
        ("deploying", 0, 0),
        ("running", 1, 1),
        ("succeeded", 0, 0),
        ("failed", 0, 1),
        ("stopped", 0, 0),
    ):
        assert (page.number(f"mine-{state}"), page.number(f"team-{state}")) == (mine, all_jobs)
    links = {e.attrs.get("href") for e in page.all("a")}
    assert {"/jobs/?state=failed&mine=1", "/jobs/?state=failed", "/jobs/create/"} <= links


def test_counts_are_bounded_and_those_of_ended_jobs_read_only_when_something_changed(
    client: Client, alice: User, pool: Pool, monkeypatch: Any
) -> None:
    for module in ("querysets", "texts.states"):
        monkeypatch.setattr(f"jobs.{module}.MOST_COUNTED", 3)
    for _ in range(4):
        fail(make_job(alice, pool))
    for _ in range(4):
        make_job(alice, pool)
    page = home(client)
    for name in ("mine-failed", "team-failed", "mine-queued", "team-queued"):
        assert page.by_id(name).text == "2+"
    with CaptureQueriesContext(connection) as seen:
        assert client.get(asked(page)).status_code == 204
    counts = [query["sql"] for query in seen if "COUNT(" in query["sql"] and '"jobs_job"' in query["sql"]]
    assert all("'queued'" in sql for sql in counts)
    with CaptureQueriesContext(connection) as seen:
        client.get(asked(page).split("&seen")[0])
    ended = [query["sql"] for query in seen if "COUNT(" in query["sql"] and "'failed'" in query["sql"]]
    assert ended
    assert all("LIMIT 3" in sql for sql in ended)


def test_my_jobs_with_state_and_what_there_is_to_say(
    client: Client, alice: User, pool: Pool, team: Team
) -> None:
    occupy(pool, [3, 3, 3, 3])
    running = make_job(alice, pool, name="runs")
    run(running)
    Job.objects.filter(pk=running.pk).update(started_at=timezone.now() - timedelta(hours=2, minutes=14))
    make_job(alice, pool, gpus=8, name="waits")
    make_job(make_user(team), pool, name="of a mate")
    page = home(client)
    assert named(page) == {"runs", "waits"}
    assert "2 h 14 m</span>" in page.source
    assert "the largest free block on one node is 5 GPUs" in page.source
    assert "Waiting for more than" not in page.source


def test_what_ended_last_with_how_long_it_ran(client: Client, alice: User, pool: Pool) -> None:
    job = make_job(alice, pool, name="over")
    fail(job, exit_code=7)
    end = timezone.now()
    Job.objects.filter(pk=job.pk).update(started_at=end - timedelta(seconds=90), ended_at=end)
    stopped = make_job(alice, pool, name="gone")
    move([stopped.pk], State.QUEUED, State.STOPPED)
    page = home(client)
    assert "ran 1 m 30 s" in page.source
    assert "never ran" in page.source
    assert page.source.count("with exit code 7") >= 2  # also in what needs attention
    assert "None of your jobs runs or waits." in page.source


def test_pools_at_a_glance(client: Client, alice: User, pool: Pool, team: Team) -> None:
    occupy(pool, [8, 8, 3, 0])
    small = make_pool(team, nodes=1, gpus_per_node=4, paused=True)
    make_pool(make_team(), name="of strangers")
    make_job(alice, pool, gpus=8, workers=2)
    page = home(client)
    here = " ".join(page.by_id(f"pool-{pool.pk}").text.split())
    assert here == "Idle GPUs 13 / 32 8-GPU Workers startable: 1 · 1 job waiting"
    there = " ".join(page.by_id(f"pool-{small.pk}").text.split())
    assert there == "Idle GPUs 4 / 4 Paused · 0 jobs waiting"
    Pool.objects.filter(pk=pool.pk).update(paused=True)
    changed = Page(client.get(asked(page))).by_id(f"pool-{pool.pk}")
    assert "13 / 32 Paused · 8-GPU Workers startable: 1 · 1 job" in " ".join(changed.text.split())
    assert "of strangers" not in page.source


def test_what_could_start_is_said_as_on_the_pools_pages(client: Client, alice: User, team: Team) -> None:
    """Large nodes alone do not offer large Workers: a spec does, and also where the pool is paused."""
    pool = make_pool(team, nodes=2, gpus_per_node=16, paused=True, name="A")
    for specs in (WorkerSpec.objects.none(), WorkerSpec.objects.filter(flavor__pool=pool, gpus=8)):
        specs.update(retired_at=timezone.now())
        offered = WorkerSpec.objects.filter(flavor__pool=pool, gpus=8, retired_at=None).exists()
        glance = home(client).by_id(f"pool-{pool.pk}").text
        cells = Page(client.get("/pools/")).all("td", class_="ty-size")
        listed = [cell.text.strip() for cell in cells if cell.attrs["data-label"] == "8 GPUs"]
        assert listed == (["4"] if offered else ["–"])
        assert ("8-GPU Workers startable: 4" in glance) == offered
        assert ("8-GPU" in glance) == offered


def test_three_steps_for_who_has_no_jobs(client: Client, alice: User, pool: Pool) -> None:
    links = {e.attrs.get("href") for e in home(client).all("a")}
    assert {"/jobs/create/?example=1", "/help/start/", "/pools/"} <= links
    make_job(alice, pool)
    assert "/jobs/create/?example=1" not in {e.attrs.get("href") for e in home(client).all("a")}


def test_without_a_pool_or_a_team(client: Client, alice: User) -> None:
    assert "Your team has no resource pool yet." in home(client).source
    lonely = Client()
    lonely.force_login(make_user())
    assert "You belong to no team yet" in home(lonely).source


def test_who_has_no_pool_is_told_the_same_people_to_ask_everywhere(
    client: Client, alice: User, team: Team
) -> None:
    other = make_team()
    other.memberships.create(user=alice)
    make_user(team, name="the-boss", admin=True)
    make_user(other, name="boss-elsewhere", admin=True)
    User.objects.filter(pk=make_user(team, name="boss-who-left", admin=True).pk).update(is_active=False)
    client.post("/settings/team/", {"team": team.pk})
    for address in ("/", "/pools/", "/jobs/create/"):
        told = client.get(address).content.decode()
        assert "or a team admin: the-boss." in told, address
        assert "boss-" not in told.replace("the-boss", ""), address


def test_strangers_see_nothing_of_it(alice: User, pool: Pool) -> None:
    fail(make_job(alice, pool, name="a secret"))
    run(job := make_job(alice, pool, name="another secret"))
    stranger = Client()
    stranger.force_login(make_user(make_team()))
    page = home(stranger)
    assert "secret" not in page.source
    assert pool.name not in page.source
    assert page.number("team-failed") == 0
    assert job.key not in stranger.get(f"/home/live/?keys={job.key}").content.decode()


def test_another_team_is_chosen_at_the_top(client: Client, alice: User, pool: Pool, team: Team) -> None:
    other = make_team()
    other.memberships.create(user=alice)
    there = make_pool(other)
    fail(make_job(alice, pool, team=team.pk, name="here"))
    make_job(alice, there, team=other.pk, name="there")
    assert named(home(client)) == {"here", "there"}
    client.post("/settings/team/", {"team": other.pk})
    page = home(client)
    assert named(page) == {"there"}
    assert (page.number("mine-failed"), page.number("mine-queued")) == (0, 1)
    assert pool.name not in page.source


def test_only_what_changed_is_sent_and_no_row_comes_or_goes(client: Client, alice: User, pool: Pool) -> None:
    job = make_job(alice, pool, name="watched")
    page = home(client)
    assert client.get(asked(page)).status_code == 204

    fail(job)
    later = make_job(alice, pool, gpus=8, workers=4, name="later")
    changed = Page(client.get(asked(page)))
    assert changed.by_id(f"state-{job.key}").text.strip() == "Failed"
    assert "with exit code 3" in changed.by_id(f"detail-{job.key}").text
    assert changed.number("mine-failed") == 1
    assert later.key not in changed.source
    assert changed.by_id("home-hidden").text.split() == ["1", "more", "·"]
    polled = [e for e in changed.elements if "id" in e.attrs and e.attrs["id"] != "home-poll"]
    assert all("hx-swap-oob" in e.attrs for e in polled)
    assert client.get(asked(changed)).status_code == 204


def test_back_shows_the_page_as_it_is(client: Client, alice: User) -> None:
    assert client.get("/")["Cache-Control"] == "no-store"


def test_odd_names_and_gone_pools(client: Client, alice: User, pool: Pool) -> None:
    make_job(alice, pool, name=ODD)
    fail(make_job(alice, pool, name=ODD))
    Pool.objects.filter(pk=pool.pk).update(retired_at=timezone.now(), name="renamed")
    for source in (home(client).source, client.get(asked(home(client)).split("&seen")[0]).content.decode()):
        assert "<img src=x" not in source
    assert ODD in {e.text for e in home(client).all("a")}


def test_it_costs_the_same_for_many_jobs_and_pools(
    client: Client,
    alice: User,
    pool: Pool,
    team: Team,
    django_assert_num_queries: Any,
    django_assert_max_num_queries: Any,
) -> None:
    def life(pool: Pool) -> None:
        occupy(pool, [0, 0, 0, 1] if pool.jobs.count() == 0 else [])
        fail(make_job(alice, pool))
        run(make_job(alice, pool))
        waiting = make_job(alice, pool, gpus=8, workers=4)
        Job.objects.filter(pk=waiting.pk).update(created_at=timezone.now() - timedelta(hours=1))

    life(pool)
    with django_assert_max_num_queries(35) as first:
        page = home(client)
    for _ in range(3):
        life(pool)
        life(make_pool(team))
    with django_assert_num_queries(len(first)) as seen:
        home(client)
    selected = "".join(query["sql"] for query in seen)
    assert re.findall(r' "jobs_job"\."(request|frozen|findings)"[,  ]', selected) == []
    with django_assert_max_num_queries(20):
        assert client.get(asked(page)).status_code == 200
