"""What an update of the form answers: numbers, outlook, notes, and what another pool brings."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from django.test import Client

from jobs.models import Job
from jobs.services import job_estimate
from jobs.spec import JobSpec
from pools.models import Pool
from teams.models import Team, User
from tests.factories import (
    make_channel,
    make_job,
    make_pool,
    make_team,
    make_user,
    make_volume,
    occupy,
    worker_spec,
)
from tests.jobs.pages import CREATE, Page
from tests.jobs.sent import filled

pytestmark = pytest.mark.django_db


@pytest.fixture
def pool(whole_pool: Pool) -> Pool:
    return whole_pool


def test_variables_beyond_the_limit_are_not_even_read(client: Client, page: Page, pool: Pool) -> None:
    sent = filled(page, pool, env_text=" ';" * 500_000)
    for address, status in ((CREATE, 422), ("/jobs/estimate/", 200)):
        with mock.patch("jobs.forms.variables.parse_text", side_effect=AssertionError):
            answer = client.post(address, sent)
        assert answer.status_code == status
        assert "Too long: at most 262144 bytes." in answer.content.decode()
    assert not Job.objects.exists()


def test_the_estimate_shows_the_numbers_of_the_one_arithmetic(
    client: Client, page: Page, pool: Pool, alice: User
) -> None:
    occupy(pool, [0, 3, 5, 6])
    sent = filled(page, pool, worker_count="9")
    shown = Page(client.post("/jobs/estimate/", sent))
    spec = JobSpec(
        team=None,
        pool=pool.pk,
        image=int(sent["image"][0]),
        command=":",
        name="-",
        spec=worker_spec(pool, 2).pk,
        worker_count=9,
    )
    judged = job_estimate(user=alice, spec=spec)

    assert shown.number("total-gpus") == judged.total_gpus == 18
    assert shown.number("startable") == judged.startable == 8
    assert shown.number("idle-gpus") == judged.idle_gpus == 18
    assert [shown.number(f"startable-{worker_spec(pool, g).pk}") for g in (1, 2, 4, 8)] == [18, 8, 3, 1]
    assert shown.number("custom-startable") == 13
    assert shown.by_id("summary").attrs["data-outlook"] == "queue"
    assert "Needs room for 9 Workers" in shown.source


def test_an_update_of_the_numbers_reads_little(
    client: Client, page: Page, pool: Pool, team: Team, django_assert_max_num_queries: Any
) -> None:
    for _ in range(3):
        make_pool(team)
    sent = filled(page, pool)
    shown = sent | {"shown_team": [str(team.pk)], "shown_pool": [str(pool.pk)]}
    with django_assert_max_num_queries(11):  # of few nodes each is drawn, with whose jobs are on it
        client.post("/jobs/estimate/", shown)
    with django_assert_max_num_queries(22):
        client.get(CREATE)


@pytest.mark.parametrize(("busy", "told"), [(False, False), (True, False), (False, True)])
def test_an_update_in_a_large_pool_reads_as_much_as_in_any(
    client: Client,
    page: Page,
    pool: Pool,
    alice: User,
    django_assert_max_num_queries: Any,
    busy: bool,
    told: bool,
) -> None:
    team = alice.memberships.get().team
    large = make_pool(team, nodes=129, zone=pool.zone)
    spec = worker_spec(large, 8).pk
    volume = make_volume(pool.zone, team)
    mounts = {"mount_volume": [str(volume.pk)], "mount_path": ["/mnt/public"]}
    sent = filled(page, large, pool=str(large.pk), spec=str(spec), worker_count="100") | mounts
    if busy:
        occupy(large, [1] * 30)
    if told:
        channels = [str(make_channel(alice).pk) for _ in range(20)]
        sent |= {"alert_channel": channels, "alert_timed": [""] * 20, "alert_minutes": [""] * 20}
        sent |= {"alert_event": [f"{row}.failed" for row in range(20)]}
    shown = sent | {"shown_team": [str(team.pk)], "shown_pool": [str(large.pk)]}
    # Two tell who asks; where it waits, another pool is looked at; alerts need the names of the channels.
    with django_assert_max_num_queries(8 + busy + told):
        live = Page(client.post("/jobs/estimate/", shown))
    assert ("Workers would land on 100 nodes" in live.source) is not busy


def test_a_custom_count_lists_its_first_workers_and_counts_the_others(
    client: Client, page: Page, team: Team, pool: Pool
) -> None:
    large = make_pool(team, nodes=12, zone=pool.zone)
    sent = filled(page, large, pool=str(large.pk), spec="", custom="on", custom_gpus="93")
    assert "and 4 more Workers" in client.post("/jobs/estimate/", sent).content.decode()


def test_the_outlooks(client: Client, page: Page, pool: Pool) -> None:
    def outlook(**changed: Any) -> str | None:
        answer = client.post("/jobs/estimate/", filled(page, pool, **changed))
        return Page(answer).by_id("summary").attrs["data-outlook"]

    assert outlook() == "now"
    assert outlook(name="", command="") == "now"  # typed last; the numbers do not wait for them
    assert outlook(spec="") == "choose"
    assert outlook(worker_count="17") == "never"
    assert outlook(worker_count="0") == "wrong"
    assert not Job.objects.exists()


def test_a_person_of_two_teams_chooses(client: Client, team: Team, pool: Pool) -> None:
    second = make_team("zz")
    theirs = make_pool(second)
    user = make_user(team, second)
    client.force_login(user)
    page = Page(client.get(CREATE))
    assert page.fields()["team"] == [str(team.pk)]
    live = Page(client.post("/jobs/estimate/", page.fields() | {"team": [str(second.pk)]}))
    assert theirs.name in live.by_id("id_pool").text
    assert pool.name not in live.by_id("id_pool").text


def test_whoever_was_signed_out_gets_no_page_in_the_page() -> None:
    assert Client().post("/jobs/estimate/").status_code == 401
    assert Client().get(CREATE)["Location"] == "/accounts/login/?next=/jobs/create/"


def test_queueing_is_shown_with_its_place(client: Client, page: Page, pool: Pool, alice: User) -> None:
    occupy(pool, [8, 8, 8, 8])
    make_job(alice, pool, gpus=8)
    live = Page(client.post("/jobs/estimate/", filled(page, pool)))
    assert live.by_id("summary").attrs["data-outlook"] == "queue"
    assert "Will queue, place 2" in live.source


def test_what_is_still_missing_is_listed_and_marked(client: Client, page: Page, pool: Pool) -> None:
    live = Page(client.post("/jobs/estimate/", filled(page, pool, spec="", command=" ", name="")))
    assert "Still to fill in: Worker spec, Start command, Job name" in " ".join(
        live.by_id("summary").text.split()
    )
    assert {"#spec-part", "#id_command", "#id_name"} <= {e.attrs["href"] for e in live.all("a")}
    assert "Still to fill in" not in client.post("/jobs/estimate/", filled(page, pool)).content.decode()

    labels = [*page.all("label"), *page.all("div", id_="spec-label")]
    marked = {e.attrs.get("for") or e.attrs.get("id") for e in labels if "(required)" in e.text}
    assert {"id_pool", "id_image", "id_command", "id_name", "id_worker_count", "spec-label"} <= marked
    assert not {"id_description", "id_tags", "id_env_text"} & marked


def test_why_it_can_never_run_is_said_once(client: Client, page: Page, pool: Pool) -> None:
    live = Page(client.post("/jobs/estimate/", filled(page, pool, worker_count="99")))
    assert live.by_id("summary").text.count("Can never run here") == 1


@pytest.mark.usefixtures("chinese")
def test_chinese_lists_have_chinese_commas(client: Client, page: Page, pool: Pool) -> None:
    sent = filled(page, pool, command="", name="")
    live = Page(client.post("/jobs/estimate/", sent, headers={"accept-language": "zh-CN"}))
    assert "启动命令、任务名称" in live.by_id("summary").text
