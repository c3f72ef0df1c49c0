"""The alerts page: what deserves attention now, of whom, and what it does not pretend."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from alerts.models import Channel, Delivery
from console.attention import MOST
from jobs.findings import Reason
from jobs.lifecycle import move
from jobs.models import Attempt, Job
from jobs.scheduling import queue_cycle
from jobs.states import State
from pools.models import Node, NodeState, Pool
from pools.services import node_set_state
from teams.models import Team, User
from tests.alerts.notices import deliver
from tests.factories import make_channel, make_job, make_pool, make_team, make_user, occupy
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


def ago(**span: float) -> Any:
    return timezone.now() - timedelta(**span)


def fail(job: Job, **ended: float) -> Job:
    queue_cycle(job.pool_id)
    move([job.pk], State.DEPLOYING, State.RUNNING)
    reason = Reason("exit_code", {"rank": 0, "exit_code": 3})
    move([job.pk], State.RUNNING, State.FAILED, reason=reason)
    if ended:
        Job.objects.filter(pk=job.pk).update(ended_at=ago(**ended))
    return job


def groups(client: Client, query: str = "") -> dict[str, str]:
    """What stands in each group, by its kind."""
    page = Page(client.get(f"/alerts/{query}"))
    return {e.attrs["id"] or "": " ".join(e.text.split()) for e in page.all("section", class_="ty-alerts")}


def test_nothing_needs_attention(client: Client, alice: User, pool: Pool) -> None:
    make_job(alice, pool)
    source = client.get("/alerts/").content.decode()
    assert "Nothing needs attention." in source
    assert groups(client) == {}


def test_own_channels_that_do_not_deliver(client: Client, alice: User, team: Team) -> None:
    for owner, name, state in [
        (alice, "off", "sent"),
        (alice, "fine", "sent"),
        (alice, "lost", "given_up"),
        (alice, "long-ago", "refused"),
        (make_user(team), "colleague", "refused"),
    ]:
        delivery = deliver(make_channel(owner, team, name=name))
        Delivery.objects.filter(pk=delivery.pk).update(
            state=state, ended_at=ago(hours=30 if "-" in name else 1)
        )
    Channel.objects.filter(name="off").update(disabled_at=timezone.now())
    said = groups(client)["channels"]
    assert "lost Its last notice did not arrive. off Disabled: nothing is sent to it." in said
    assert not {"fine", "long-ago", "colleague"} & set(said.split())


def test_signing_in_comes_first() -> None:
    assert Client().get("/alerts/")["Location"] == "/accounts/login/?next=/alerts/"


def test_failed_jobs_of_a_week(client: Client, alice: User, pool: Pool) -> None:
    fail(make_job(alice, pool, name="old"), days=8)
    fail(make_job(alice, pool, name="recent"), days=6)
    fail(make_job(alice, pool, name="latest"))
    said = groups(client)
    assert list(said) == ["failed"]
    assert said["failed"].startswith("Failed in the last 7 days 2 latest")
    assert "recent" in said["failed"]
    assert "old" not in said["failed"]
    assert "with exit code 3" in said["failed"]


def test_long_waiting_jobs_with_the_reason_the_longest_first(client: Client, alice: User, pool: Pool) -> None:
    occupy(pool, [3, 3, 3, 3])
    for name, minutes in (("new", 29), ("long", 31), ("longest", 90)):
        job = make_job(alice, pool, gpus=8, name=name)
        Job.objects.filter(pk=job.pk).update(created_at=ago(minutes=minutes))
    said = groups(client)["waiting"]
    assert said.index("longest") < said.index("Waiting for 31 m")
    assert "Waiting for 1 h 30 m. Needs room for 1 Worker of 8 GPUs" in said
    assert "new" not in said


def test_why_each_of_several_waits(client: Client, alice: User, team: Team) -> None:
    """The reasons are those of the job pages, though they are found out for all at once."""
    crowded = make_pool(team, max_gpus=12)
    occupy(crowded, [6, 6, 6, 0])
    paused = make_pool(team, paused=True)
    one = make_job(alice, crowded, gpus=8)
    two = make_job(alice, crowded, gpus=8)
    three = make_job(alice, paused)
    Job.objects.update(created_at=ago(hours=1))
    said = groups(client)["waiting"]
    assert "Waiting for 1 h 0 m. Starts in a moment." in said
    assert "Your team holds 8 of at most 12 GPUs" in said
    assert "The resource pool is paused." in said
    for job in (one, two, three):
        page = Page(client.get(f"/jobs/{job.key}/")).source
        reasons = ("Starts in a moment.", "at most 12 GPUs", "The resource pool is paused.")
        assert any(text in page and text in said for text in reasons)


def test_jobs_that_deploy_for_long(client: Client, alice: User, pool: Pool) -> None:
    quick, stuck = make_job(alice, pool, name="quick"), make_job(alice, pool, name="stuck")
    queue_cycle(pool.pk)
    Job.objects.filter(pk=stuck.pk).update(deploy_step="pull_image")
    Attempt.objects.filter(job=stuck).update(placed_at=ago(minutes=14))
    Attempt.objects.filter(job=quick).update(placed_at=ago(minutes=9))
    said = groups(client)["deploying"]
    assert "stuck" in said
    assert "Deploying for 14 m" in said
    assert "step: pull image." in said
    assert "quick" not in said


def test_pools_and_their_nodes(client: Client, alice: User, pool: Pool, team: Team) -> None:
    make_pool(team, paused=True, name="paused here")
    make_pool(make_team(), paused=True, name="paused elsewhere")
    nodes = list(Node.objects.filter(flavor__pool=pool).order_by("name"))
    node_set_state(nodes=Node.objects.filter(pk__in=[n.pk for n in nodes[:2]]), state=NodeState.DOWN)
    node_set_state(nodes=Node.objects.filter(pk=nodes[2].pk), state=NodeState.CORDONED)
    node_set_state(nodes=Node.objects.filter(pk=nodes[3].pk), state=NodeState.RETIRED)
    said = groups(client)
    assert list(said) == ["paused", "out_of_service"]
    assert "paused here" in said["paused"]
    assert "elsewhere" not in said["paused"]
    assert said["out_of_service"].startswith("Nodes out of service 3 ")
    assert f"2 nodes down (16 GPUs): {nodes[0].name} and others." in said["out_of_service"]
    assert f"1 node cordoned (8 GPUs): {nodes[2].name}." in said["out_of_service"]
    links = [e.attrs.get("href") or "" for e in Page(client.get("/alerts/")).all("a")]
    assert any(address.startswith("/pools/") for address in links)


def test_prepaid_periods_that_end_soon(client: Client, alice: User, pool: Pool) -> None:
    today = timezone.localdate()
    nodes = list(Node.objects.filter(flavor__pool=pool).order_by("name"))
    for node, days in zip(nodes, (-3, 1, 30, 31), strict=True):
        Node.objects.filter(pk=node.pk).update(prepaid_until=today + timedelta(days=days))
    said = groups(client)["ending"]
    assert f"1 node, ended on {today - timedelta(days=3)}." in said
    assert f"1 node until {today + timedelta(days=1)}: 1 day left." in said
    assert f"1 node until {today + timedelta(days=30)}: 30 days left." in said
    assert str(today + timedelta(days=31)) not in said
    Node.objects.filter(pk__in=[n.pk for n in nodes]).update(state=NodeState.RETIRED, schedulable=False)
    assert groups(client) == {}


def test_of_many_periods_the_first_are_shown_and_said_to_be_more(
    client: Client, alice: User, team: Team
) -> None:
    """Those that are over already are among them, and the title says so."""
    today = timezone.localdate()
    nodes = list(Node.objects.filter(flavor__pool=make_pool(team, nodes=MOST + 1)).order_by("name"))
    for day, node in enumerate(nodes):
        Node.objects.filter(pk=node.pk).update(prepaid_until=today + timedelta(days=day - 2))
    said = groups(client)["ending"]
    assert said.startswith(f"Prepaid periods over or ending within 30 days {MOST}+ ")
    assert said.endswith("All resource pools")
    Node.objects.filter(pk=nodes[0].pk).update(prepaid_until=None)
    assert f"within 30 days {MOST} " in groups(client)["ending"]


def test_own_jobs_or_those_of_the_team(client: Client, alice: User, pool: Pool, team: Team) -> None:
    mate = make_user(team, name="a-mate")
    fail(make_job(alice, pool, name="my own"))
    fail(make_job(mate, pool, name="of the mate"))
    mine, all_jobs = groups(client)["failed"], groups(client, "?whose=team")["failed"]
    assert "of the mate" not in mine
    assert "my own" in all_jobs
    assert "of the mate" in all_jobs
    assert "a-mate" in all_jobs


def test_strangers_see_nothing_of_it(alice: User, pool: Pool) -> None:
    fail(make_job(alice, pool, name="a secret"))
    Pool.objects.filter(pk=pool.pk).update(paused=True)
    stranger = Client()
    stranger.force_login(make_user(make_team()))
    assert groups(stranger) == groups(stranger, "?whose=team") == {}


def test_another_team_is_chosen_at_the_top(client: Client, alice: User, pool: Pool, team: Team) -> None:
    other = make_team()
    other.memberships.create(user=alice)
    there = make_pool(other, paused=True)
    fail(make_job(alice, pool, team=team.pk, name="here"))
    assert list(groups(client)) == ["failed", "paused"]
    client.post("/settings/team/", {"team": team.pk})
    assert list(groups(client)) == ["failed"]
    client.post("/settings/team/", {"team": other.pk})
    assert list(groups(client)) == ["paused"]
    assert there.name in groups(client)["paused"]


def test_odd_names_and_gone_pools(client: Client, alice: User, pool: Pool) -> None:
    fail(make_job(alice, pool, name=ODD))
    waiting = make_job(alice, pool, gpus=8, workers=4, name=ODD)
    Job.objects.filter(pk=waiting.pk).update(created_at=ago(hours=1))
    Pool.objects.filter(pk=pool.pk).update(retired_at=timezone.now())
    page = Page(client.get("/alerts/"))
    assert "<img src=x" not in page.source
    assert [e.text for e in page.all("a", class_="ty-name")] == [ODD, ODD]


def test_more_than_fit_are_said_to_be_more_at_the_same_cost(
    client: Client,
    alice: User,
    pool: Pool,
    django_assert_num_queries: Any,
    django_assert_max_num_queries: Any,
) -> None:
    occupy(pool, [1])
    fail(make_job(alice, pool))
    waiting = make_job(alice, pool, gpus=8, workers=4)
    Job.objects.filter(pk=waiting.pk).update(created_at=ago(hours=1))
    with django_assert_max_num_queries(19) as first:
        client.get("/alerts/")
    for _ in range(MOST):
        fail(make_job(alice, pool))
    make_job(alice, pool, gpus=4, workers=8)
    Job.objects.filter(state=State.QUEUED).update(created_at=ago(hours=1))
    with django_assert_num_queries(len(first)):
        page = Page(client.get("/alerts/"))
    failed = next(e for e in page.all("section") if e.attrs.get("id") == "failed")
    assert f"{MOST}+" in failed.text
    assert "/jobs/?state=failed&mine=1" in {e.attrs.get("href") for e in page.all("a")}
