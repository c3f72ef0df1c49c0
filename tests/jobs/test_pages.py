"""The list, the page of one job, stopping, and who may see what."""

from __future__ import annotations

import re
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.test import Client

from jobs.findings import Reason
from jobs.lifecycle import move
from jobs.models import Job
from jobs.scheduling import queue_cycle
from jobs.spec import EnvVar
from jobs.states import State
from pools.models import Pool
from teams.models import Team, User
from tests.factories import make_job, make_pool, make_team, make_user, occupy
from tests.jobs.pages import Page

pytestmark = pytest.mark.django_db
ODD = '训练-🚀 "q" <img src=x onerror=alert(1)> ../../x (1)'


@pytest.fixture
def alice(team: Team, client: Client) -> User:
    user = make_user(team)
    client.force_login(user)
    return user


@pytest.fixture
def pool(team: Team) -> Pool:
    return make_pool(team)


def listed(client: Client, query: str = "") -> list[str]:
    return rows(Page(client.get(f"/jobs/{query}")))


def rows(page: Page) -> list[str]:
    """The names of the jobs in a list, from top to bottom."""
    return [e.text.strip() for e in page.all("a") if (e.attrs.get("href") or "").startswith("/jobs/jo-")]


def test_odd_names_are_text_everywhere(client: Client, alice: User, pool: Pool) -> None:
    job = make_job(
        alice, pool, name=ODD, tags=("</script><b>",), description="<b>x</b>", command="echo '<script>'"
    )
    for address in ("/jobs/", f"/jobs/{job.key}/", f"/jobs/{job.key}/live/"):
        source = client.get(address).content.decode()
        assert "<img src=x" not in source
        assert "<b>" not in source.replace("<b></b>", "")
        assert "<script>'" not in source
    assert ODD in listed(client)


def test_a_name_may_be_as_long_as_the_limit(client: Client, alice: User, pool: Pool) -> None:
    name = "汉" * 128
    make_job(alice, pool, name=name)
    assert listed(client) == [name]


def test_strangers_find_nothing(alice: User, pool: Pool) -> None:
    job = make_job(alice, pool)
    stranger = Client()
    stranger.force_login(make_user(make_team()))
    for address in ("", "live/", "workers/0/log/"):
        assert stranger.get(f"/jobs/{job.key}/{address}").status_code == 404
    assert stranger.post(f"/jobs/{job.key}/stop/").status_code == 404
    assert listed(stranger) == []
    assert stranger.get(f"/jobs/states/?keys={job.key}").content.strip() == b""
    job.refresh_from_db()
    assert job.state == State.QUEUED


@pytest.mark.parametrize(
    "address",
    ["/jobs/", "/jobs/create/", "/jobs/jo-0123456789abcdef/", "/jobs/jo-0123456789abcdef/workers/0/log/"],
)
def test_signing_in_comes_first(address: str) -> None:
    assert Client().get(address)["Location"].startswith("/accounts/login/?next=")


def test_filter_by_state_and_search(client: Client, alice: User, pool: Pool) -> None:
    one = make_job(alice, pool, name="alpha", tags=("sft", "sft-2"))
    make_job(alice, pool, name="beta")
    move([one.pk], State.QUEUED, State.STOPPED)
    assert listed(client) == ["beta", "alpha"]
    assert listed(client, "?state=stopped") == ["alpha"]
    assert listed(client, "?state=queued&search=alp") == []
    assert listed(client, "?search=SFT") == ["alpha"]
    assert listed(client, f"?search={one.key}") == ["alpha"]
    assert listed(client, "?state=nonsense") == ["beta", "alpha"]
    tabs = [
        e.text.split()
        for e in Page(client.get("/jobs/?search=a")).all("a")
        if "state=" in str(e.attrs.get("href"))
    ]
    assert ["Queued", "1"] in tabs
    assert ["Stopped", "1"] in tabs


def test_pages_neither_double_nor_drop_rows(client: Client, alice: User, pool: Pool) -> None:
    made = [make_job(alice, pool, name=f"job {n}").name for n in range(45)]
    address, seen = "", []
    while True:
        page = Page(client.get(f"/jobs/{address}"))
        seen += rows(page)
        make_job(alice, pool, name="later")
        older = [e for e in page.all("a", class_="btn") if e.text == "Older"]
        if not older:
            break
        address = older[0].attrs["href"] or ""
    assert seen == made[::-1]
    assert client.get("/jobs/?before=nonsense").status_code == 200


def test_a_waiting_job_tells_its_place_and_why(client: Client, alice: User, pool: Pool) -> None:
    occupy(pool, [3, 3, 3, 8])
    make_job(alice, pool, gpus=8, workers=2)
    job = make_job(alice, pool, gpus=8)
    source = client.get(f"/jobs/{job.key}/").content.decode()
    assert "Place 2 in the queue." in source
    assert "1 job with 16 GPUs ahead." in source
    assert "the largest free block on one node is 5 GPUs" in source


def test_the_live_part_is_only_sent_when_it_changed(client: Client, alice: User, pool: Pool) -> None:
    job = make_job(alice, pool, gpus=2, workers=2)
    ask = Page(client.get(f"/jobs/{job.key}/")).by_id("live").attrs["hx-get"] or ""
    assert client.get(ask).status_code == 204

    queue_cycle(pool.pk)
    changed = Page(client.get(ask))
    assert "Deploying" in changed.source
    assert "allocate resources" in changed.source
    assert len([e for e in changed.all("a") if e.text == "Log"]) == 2

    Job.objects.filter(pk=job.pk).update(deploy_step="pull_image")
    move([job.pk], State.DEPLOYING, State.RUNNING)
    move([job.pk], State.RUNNING, State.SUCCEEDED)
    ended = Page(client.get(changed.by_id("live").attrs["hx-get"] or ""))
    assert "hx-get" not in ended.by_id("live").attrs
    assert not [e for e in ended.elements if e.attrs.get("id") == "stop"]


def test_the_state_cells_stop_asking_at_the_end(client: Client, alice: User, pool: Pool) -> None:
    one, two = make_job(alice, pool), make_job(alice, pool)
    asked = f"/jobs/states/?keys={one.key},{two.key}"
    move([one.pk], State.QUEUED, State.STOPPED)
    assert client.get(asked).status_code == 200
    move([two.pk], State.QUEUED, State.STOPPED)
    answer = client.get(asked)
    assert answer.status_code == 286
    assert answer.content.decode().count("Stopped") == 2
    assert not [e for e in Page(client.get("/jobs/")).elements if "data-poll" in e.attrs]


def test_one_gpu_is_no_plural(client: Client, alice: User, pool: Pool) -> None:
    job = make_job(alice, pool, gpus=1, workers=2)
    make_job(alice, pool, gpus=2, workers=2)
    shown = client.get("/jobs/").content.decode()
    assert "1 GPU × 2" in shown
    assert "2 GPUs × 2" in shown
    assert "1 GPU × 2" in client.get(f"/jobs/{job.key}/").content.decode()


def test_an_empty_description_and_a_short_command_stand_in_one_line(
    client: Client, alice: User, pool: Pool
) -> None:
    def page(command: str) -> Page:
        return Page(client.get(f"/jobs/{make_job(alice, pool, command=command).key}/"))

    short, long = page("true"), page("true\nfalse")
    assert [e.text for e in short.all("span", class_="ty-description")] == ["–"]
    assert (short.all("details"), len(long.all("details"))) == ([], 1)


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


@pytest.mark.parametrize("demo", [True, False])
def test_the_sign_in_page_names_the_demo_accounts(client: Client, settings: Any, demo: bool) -> None:
    settings.DEMO = demo
    assert ("Demo accounts" in client.get("/accounts/login/").content.decode()) is demo


def test_after_a_wrong_password_the_cursor_is_in_its_field(client: Client) -> None:
    page = Page(client.get("/accounts/login/"))
    assert [e.attrs["name"] for e in page.elements if "autofocus" in e.attrs] == ["username"]
    page = Page(client.post("/accounts/login/", {"username": "alice", "password": "wrong"}))
    assert [e.attrs["name"] for e in page.elements if "autofocus" in e.attrs] == ["password"]


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
    assert client.get(f"/jobs/{job.key}/stop/").status_code == 405
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


def test_back_shows_the_list_as_it_is(client: Client, alice: User, pool: Pool) -> None:
    for address in ("/jobs/", f"/jobs/{make_job(alice, pool).key}/"):
        assert client.get(address)["Cache-Control"] == "no-store"


def test_the_list_costs_the_same_for_many_jobs(
    client: Client, alice: User, pool: Pool, django_assert_max_num_queries: object
) -> None:
    for _ in range(12):
        job = make_job(alice, pool, tags=("a",))
    for address in ("/jobs/", f"/jobs/states/?keys={job.key}", f"/jobs/{job.key}/live/"):
        with django_assert_max_num_queries(12) as asked:  # type: ignore[operator]
            assert client.get(address).status_code in (200, 286)
        selected = "".join(query["sql"] for query in asked)
        assert re.findall(r' "jobs_job"\."(request|frozen|findings)"', selected) == []
        assert "DISTINCT" not in selected
