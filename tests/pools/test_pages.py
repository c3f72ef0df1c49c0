"""The list of pools and the page of one pool, without what higher apps show there."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.scheduling import queue_cycle
from pools.models import Flavor, Grant, Hold, Node, NodeState, WorkerSpec
from pools.services import node_set_state
from tests.factories import make_flavor, make_job, make_pool, make_team, make_user, make_zone, occupy
from tests.jobs.pages import Page

pytestmark = pytest.mark.django_db
ENGLISH = {"accept-language": "en"}
CHINESE = {"accept-language": "zh-CN"}


@pytest.fixture
def team():
    return make_team()


@pytest.fixture
def user(team):
    return make_user(team)


@pytest.fixture
def client(user):
    client = Client(headers=ENGLISH)
    client.force_login(user)
    return client


def text(client, address="/pools/", status=200):
    """The page as one line of text."""
    answer = client.get(address)
    assert answer.status_code == status
    page = Page(answer)
    return " ".join(page.all("main")[0].text.split())


def rows(client, address="/pools/"):
    """The rows of the list, each by the labels of its cells."""
    page = Page(client.get(address))
    names = [th.text for th in page.all("th", scope="row")]
    cells = [e for e in page.all("td") if e.attrs.get("data-label")]
    each = len(cells) // max(len(names), 1)
    return {
        " ".join(name.split()): {
            str(c.attrs["data-label"]): " ".join(c.text.split()) for c in cells[i * each : (i + 1) * each]
        }
        for i, name in enumerate(names)
    }


def test_a_row_tells_what_a_pool_is_and_what_could_start_in_it(client, team):
    pool = make_pool(team, nodes=5, network="roce", name="A", zone=make_zone("north"))
    occupy(pool, [0, 0, 3, 5, 6])  # leaves 8, 8, 5, 3, 2
    row = rows(client)["A"]
    assert row["Availability zone"] == "north"
    assert row["GPU"] == "A100 × 8 RoCE 1*200G"
    assert row["Idle / total GPUs"] == "26 / 40"
    assert [row[size] for size in ("1 GPU", "2 GPUs", "4 GPUs", "8 GPUs")] == ["26", "12", "5", "2"]
    assert row["Queue"] == "nobody waits"


def test_sizes_that_no_spec_has_are_not_offered(client, team):
    pool = make_pool(team, nodes=2, gpus_per_node=4, name="A")
    WorkerSpec.objects.filter(flavor__pool=pool, gpus=2).update(retired_at=timezone.now())
    row = rows(client)["A"]
    assert [row[size] for size in ("1 GPU", "2 GPUs", "4 GPUs", "8 GPUs")] == ["8", "–", "2", "–"]


def test_who_waits_is_counted_and_a_paused_pool_says_so(client, team, user):
    pool = make_pool(team, nodes=2, name="A", paused=True)
    make_job(user, pool, gpus=8, workers=2)
    make_job(user, pool, gpus=1)
    (name, row), *_ = rows(client).items()
    assert "Paused" in name
    assert row["Queue"] == "2 jobs (17 GPUs)"
    assert row["8 GPUs"] == "2"
    told = text(client, f"/pools/{pool.pk}/")
    assert "Startable count" in told
    assert "Paused 1 GPU 16 2 GPU 8 4 GPU 4 8 GPU 2" in told


def test_nodes_out_of_service_offer_nothing(client, team):
    pool = make_pool(team, nodes=3, name="A")
    node_set_state(nodes=Node.objects.filter(flavor__pool=pool)[:1], state=NodeState.DOWN)
    row = rows(client)["A"]
    assert row["Idle / total GPUs"] == "16 / 24 1 node out of service"
    assert row["8 GPUs"] == "2"


@pytest.mark.parametrize(
    ("days", "said"), [(-1, "over"), (0, "ends today"), (1, "1 day left"), (30, "30 days left"), (31, "")]
)
def test_the_end_of_the_prepaid_period_is_that_of_the_first_node_in_the_pool(client, team, days, said):
    pool = make_pool(team, nodes=3, name="A")
    first, last, retired = Node.objects.filter(flavor__pool=pool)
    today = timezone.localdate()
    Node.objects.filter(pk=first.pk).update(prepaid_until=today + timedelta(days=days))
    Node.objects.filter(pk=last.pk).update(prepaid_until=today + timedelta(days=400))
    Node.objects.filter(pk=retired.pk).update(prepaid_until=today - timedelta(days=9))
    node_set_state(nodes=Node.objects.filter(pk=retired.pk), state=NodeState.RETIRED)
    end = (today + timedelta(days=days)).isoformat()
    assert rows(client)["A"]["Prepaid until"] == f"{end} {said}".strip()


def test_filters_are_in_the_address(client, team):
    north, south = make_zone("north"), make_zone("south")
    make_pool(team, name="alpha", zone=north)
    beta = make_pool(team, name="beta", zone=south)
    Flavor.objects.filter(pool=beta).update(gpu_model="H20")
    assert list(rows(client, "/pools/?zone=north")) == ["alpha"]
    assert list(rows(client, "/pools/?gpu=H20")) == ["beta"]
    assert list(rows(client, "/pools/?search=ALPH")) == ["alpha"]
    assert list(rows(client, "/pools/?zone=north&gpu=A100&search=a")) == ["alpha"]
    assert "No resource pool matches." in text(client, "/pools/?zone=north&gpu=H20")
    chosen = Page(client.get("/pools/?zone=south&search=x"))
    assert chosen.fields()["search"] == ["x"]
    assert chosen.fields()["zone"] == ["south"]


def test_only_pools_of_the_chosen_team_or_else_of_all_teams_of_the_user(client, team, user):
    second = make_team()
    user.memberships.create(team=second)
    make_pool(team, name="first")
    make_pool(second, name="second")
    make_pool(team, second, name="both")
    make_pool(make_team(), name="foreign")
    make_pool(team, name="retired", retired_at=timezone.now())
    assert list(rows(client)) == ["both", "first", "second"]
    client.post("/settings/team/", {"team": second.pk, "next": "/pools/"})
    assert list(rows(client)) == ["both", "second"]


def test_who_has_no_pool_is_told_whom_to_ask(client, team):
    assert "To have it changed, ask an administrator." in text(client)
    make_user(team, name="the-boss", admin=True)
    make_user(make_team(), name="foreign-boss", admin=True)
    told = text(client)
    assert "the-boss" in told
    assert "foreign-boss" not in told


def queries(client, address):
    with CaptureQueriesContext(connection) as seen:
        assert client.get(address).status_code == 200
    return len(seen)


def test_the_list_costs_the_same_for_many_pools(client, team, user):
    job_pool = make_pool(team)
    make_job(user, job_pool, gpus=8, workers=4)
    one = queries(client, "/pools/")
    for _ in range(6):
        make_flavor(make_pool(team))
    assert queries(client, "/pools/") == one


def test_a_pool_of_others_is_not_found(client):
    pool = make_pool(make_team())
    assert client.get(f"/pools/{pool.pk}/").status_code == 404
    assert client.get(f"/pools/{pool.pk}/numbers/").status_code == 404
    assert client.get("/pools/99999999999999999999999/").status_code == 404


def test_strangers_are_asked_to_sign_in():
    pool = make_pool(make_team())
    assert Client().get("/pools/").status_code == 302
    assert Client().get(f"/pools/{pool.pk}/").status_code == 302
    assert Client().get(f"/pools/{pool.pk}/numbers/").status_code == 401


def test_the_numbers_of_a_pool_are_told_apart(client, team, user):
    pool = make_pool(team, make_team(), nodes=4, max_gpus=20)
    occupy(pool, [3, 8])
    node_set_state(
        nodes=Node.objects.filter(flavor__pool=pool).order_by("-name")[:1], state=NodeState.CORDONED
    )
    Grant.objects.filter(pool=pool, team=team).update(held_gpus=7)
    told = text(client, f"/pools/{pool.pk}/")
    assert "Idle GPUs 13 / 32 = 24 in service − 11 in use there 1 node out of service (8 GPUs)" in told
    assert "8 of 13 idle GPUs are on wholly idle nodes." in told
    assert "GPUs in use by your team 7 / 20" in told
    assert "1 GPU 13 2 GPU 6 4 GPU 3 8 GPU 1" in told
    assert "By custom GPU count: up to 13" in told


def test_the_quota_of_other_teams_is_not_told(client, team):
    pool = make_pool(team, name="A")
    Grant.objects.create(pool=pool, team=make_team("secret-team"), max_gpus=4321)
    told = client.get(f"/pools/{pool.pk}/").content.decode()
    assert "secret-team" not in told
    assert "4321" not in told
    assert "no quota" in told


def test_what_is_held_on_a_node_out_of_service_is_told_apart(client, team, user):
    """The GPUs of the team are those in service and those out of service together."""
    pool = make_pool(team, nodes=2)
    make_job(user, pool, gpus=2)
    queue_cycle(pool.pk)
    node = Hold.objects.first().node
    assert "out of service" not in text(client, f"/pools/{pool.pk}/")
    node_set_state(nodes=Node.objects.filter(pk=node.pk), state=NodeState.CORDONED)
    make_job(user, pool, gpus=1)
    queue_cycle(pool.pk)
    told = text(client, f"/pools/{pool.pk}/")
    assert "Idle GPUs 7 / 16 = 8 in service − 1 in use there" in told
    assert "1 node out of service (8 GPUs) · 2 GPUs there are still in use" in told
    assert "GPUs in use by your team On nodes in service and out of service. 3" in told


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "has waited so for 60 minutes, those behind it wait for it."),
        ({"max_overtake_minutes": 1}, "has waited so for 1 minute, those"),
        ({"discipline": "strict_fifo"}, "strictly in order"),
    ],
)
def test_the_discipline_is_a_sentence_with_help(client, team, fields, said):
    pool = make_pool(team, **fields)
    answer = client.get(f"/pools/{pool.pk}/")
    assert said in " ".join(answer.content.decode().split())
    assert [a for a in Page(answer).all("a") if str(a.attrs.get("href")).endswith("/help/compute/#queue")]


@pytest.mark.parametrize(
    ("nodes", "paused", "said"),
    [(0, False, "There are no nodes"), (2, True, "is paused"), (-2, False, "All nodes are out of service")],
)
def test_why_nothing_starts_here_is_said_on_top(client, team, nodes, paused, said):
    pool = make_pool(team, nodes=abs(nodes), paused=paused)
    if nodes < 0:
        node_set_state(nodes=Node.objects.filter(flavor__pool=pool), state=NodeState.DOWN)
    assert said in text(client, f"/pools/{pool.pk}/")


def test_several_flavors_are_summed_up_and_their_specs_kept_apart(client, team):
    pool = make_pool(team, nodes=1)
    small = make_flavor(pool, nodes=1, gpus_per_node=4)
    told = text(client, f"/pools/{pool.pk}/")
    assert "Idle GPUs 12 / 12" in told
    assert f"{small.name} 1 GPU 4 2 GPU 2 4 GPU 1" in told


def test_the_parts_of_a_higher_app_are_loaded_by_address_and_linked_without_javascript(client, team):
    pool = make_pool(team, nodes=3)
    page = Page(client.get(f"/pools/{pool.pk}/?idle=4&show=mine&evil=1"))
    loaded = {str(e.attrs["id"]): str(e.attrs["hx-get"]) for e in page.all("div", hx_trigger="load")}
    base = f"/jobs/pools/{pool.pk}"
    assert loaded == {
        "pool-occupancy": f"{base}/occupancy/",
        "pool-queue": f"{base}/queue/",
        "pool-nodes": f"{base}/nodes/?idle=4&show=mine",
    }
    links = {str(a.attrs.get("href")) for a in page.all("a")}
    assert set(loaded.values()) <= links
    assert all(client.get(address).status_code == 200 for address in loaded.values())


def test_unchanged_numbers_are_left_alone(client, team):
    pool = make_pool(team, nodes=3)
    address = Page(client.get(f"/pools/{pool.pk}/")).by_id("pool-numbers").attrs["hx-get"]
    assert client.get(address).status_code == 204
    occupy(pool, [2])
    changed = client.get(address)
    assert changed.status_code == 200
    assert "<html" not in changed.content.decode()
    assert client.get(Page(changed).by_id("pool-numbers").attrs["hx-get"]).status_code == 204


def test_a_page_costs_the_same_for_many_nodes(client, team):
    small, large = make_pool(team, nodes=2), make_pool(team, nodes=300)
    assert queries(client, f"/pools/{small.pk}/") == queries(client, f"/pools/{large.pk}/")


def test_names_are_no_markup(client, team):
    make_pool(team, name='<b>"x"</b>', zone=make_zone("<i>z</i>"))
    make_pool(team, zone=make_zone("other"))
    told = client.get("/pools/?search=%3Cb%3E").content.decode()
    assert "<b>" not in told
    assert "<i>z" not in told
    assert "&lt;b&gt;&quot;x&quot;&lt;/b&gt;" in told


@pytest.mark.usefixtures("chinese")
def test_the_labels_in_chinese(client, team):
    pool = make_pool(team, nodes=2)
    told = client.get(f"/pools/{pool.pk}/", headers=CHINESE).content.decode()
    for label in ("资源池", "空闲卡数", "可启动数量", "占用情况", "负载排队情况"):
        assert label in told
    assert "可启动数量" in client.get("/pools/", headers=CHINESE).content.decode()


def test_no_inline_style_or_script(client, team):
    pool = make_pool(team, nodes=2, max_gpus=8)
    for address in ("/pools/", f"/pools/{pool.pk}/"):
        elements = Page(client.get(address)).elements
        assert not [e for e in elements if "style" in e.attrs or any(a.startswith("on") for a in e.attrs)]
        assert not [e for e in elements if e.tag == "script" and not e.attrs.get("src")]
