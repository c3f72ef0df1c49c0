"""Who holds what of a pool, who waits, and its nodes: as parts for htmx and as pages for everybody else."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.lifecycle import move
from jobs.models import Attempt, Job, JobEvent
from jobs.reasons import job_waiting
from jobs.scheduling import queue_cycle
from jobs.states import State
from jobs.waiting import queue_read
from pools.models import Grant, Node, NodeState
from pools.services import node_set_state
from tests.factories import make_flavor, make_job, make_pool, make_team, make_user, occupy
from tests.jobs.pages import Page

pytestmark = pytest.mark.django_db
ENGLISH = {"accept-language": "en"}
HTMX = {"hx-request": "true"}
PARTS = ("occupancy", "queue", "nodes")
NASTY = '<img src=x onerror=alert(1)> "q" 训练-🚀'


@pytest.fixture
def team():
    return make_team()


@pytest.fixture
def user(team):
    return make_user(team)


@pytest.fixture
def other(db):
    return make_user(make_team("SECRET-team"), name="SECRET-owner")


@pytest.fixture
def client(user):
    client = Client(headers=ENGLISH)
    client.force_login(user)
    return client


def part(client, pool, name, query="", **headers):
    answer = client.get(f"/jobs/pools/{pool.pk}/{name}/{query}", headers=HTMX | headers)
    assert answer.status_code == 200
    return answer


def words(answer):
    """What a part says, as one line."""
    return " ".join(Page(answer).elements[0].text.split())


def shared(team, other, **fields):
    return make_pool(team, other.memberships.get().team, **fields)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_for_htmx_and_a_page_for_everybody_else(client, team, name):
    pool = make_pool(team)
    address = f"/jobs/pools/{pool.pk}/{name}/"
    bare, whole = client.get(address, headers=HTMX), client.get(address)
    assert "<html" not in bare.content.decode()
    assert "<html" in whole.content.decode()
    for answer in (bare, whole):
        assert answer["Cache-Control"] == "no-store"
        assert "HX-Request" in answer["Vary"]
        assert f'id="pool-{name}"' in answer.content.decode()
    back = client.get(address, headers=HTMX | {"hx-history-restore-request": "true"})
    assert "<html" in back.content.decode()


@pytest.mark.parametrize("name", PARTS)
def test_only_for_who_may_use_the_pool(client, name):
    address = f"/jobs/pools/{make_pool(make_team()).pk}/{name}/"
    assert client.get(address).status_code == 404
    assert client.get(address, headers=HTMX).status_code == 404
    assert client.post(address).status_code == 405
    assert Client().get(address, headers=HTMX).status_code == 401
    assert Client().get(address)["Location"].startswith("/accounts/login/")


@pytest.mark.parametrize("name", PARTS)
def test_what_has_not_changed_is_left_alone(client, team, user, name):
    pool = make_pool(team, nodes=2)
    make_job(user, pool, gpus=8, workers=2)
    polled = [e for e in Page(part(client, pool, name)).elements if "data-poll" in e.attrs]
    address = str(polled[0].attrs["hx-get"])
    assert client.get(address, headers=HTMX).status_code == 204
    make_job(user, pool, gpus=8, workers=1)
    queue_cycle(pool.pk)
    changed = client.get(address, headers=HTMX)
    assert changed.status_code == 200
    assert str(polled[0].attrs["id"]) in changed.content.decode()


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("headers", [HTMX, {}])
def test_nothing_of_other_teams_jobs_is_told(client, team, other, name, headers):
    pool = shared(team, other, nodes=3)
    make_job(other, pool, gpus=8, name="SECRET-placed", tags=["SECRET-tag"])
    make_job(other, pool, gpus=8, workers=3, name="SECRET-waits")
    queue_cycle(pool.pk)
    make_job(other, pool, gpus=8, workers=3, name="SECRET-last")
    told = client.get(f"/jobs/pools/{pool.pk}/{name}/", headers=headers).content.decode()
    assert "SECRET" not in told
    assert not [key for key in Job.objects.values_list("key", flat=True) if key in told]
    page = client.get(f"/pools/{pool.pk}/").content.decode()
    assert "SECRET" not in page


def test_of_another_teams_quota_nothing_but_that_it_holds(client, team, other, user):
    pool = shared(team, other, nodes=2, max_gpus=8)
    Grant.objects.filter(pool=pool).update(held_gpus=7)
    make_job(other, pool, gpus=4)
    make_job(user, pool, gpus=2)
    told = words(part(client, pool, "queue"))
    assert "Held back by a limit of its team; it holds up nobody." in told
    assert "Your team holds 7 of at most 8 GPUs of this pool; this job wants 2 more." in told
    assert "wants 4 more" not in told


# --- occupancy


def test_cells_name_my_jobs_and_no_others(client, team, other, user):
    pool = shared(team, other, nodes=2)
    mine = make_job(user, pool, gpus=2, name=NASTY)
    make_job(other, pool, gpus=4)
    queue_cycle(pool.pk)
    answer = part(client, pool, "occupancy")
    page = Page(answer)
    used = [str(c.attrs["class"]).split()[1] for c in page.all("i", class_="ty-cell") if "title" in c.attrs]
    assert used == ["ty-cell-mine"] * 2 + ["ty-cell-other"] * 4 + ["ty-cell-idle"] * 10
    assert "<img" not in answer.content.decode()
    (link,) = [a for a in page.all("a") if a.attrs["href"] == f"/jobs/{mine.key}/"]
    assert link.text.strip() == NASTY
    told = words(answer)
    assert "other team: 4 GPUs" in told
    assert "2 nodes in service; idle GPUs: 10, of these on wholly idle nodes: 8." in told


def test_jobs_of_a_team_mate_are_mine_and_workers_of_a_job_are_told_once_a_node(client, team):
    mate = make_user(team, name="mate")
    pool = make_pool(team, nodes=1)
    make_job(mate, pool, gpus=2, workers=3, name="shared-work")
    queue_cycle(pool.pk)
    page = Page(part(client, pool, "occupancy"))
    assert len(page.all("i", class_="ty-cell-mine")) == 6 + 1  # and one in the legend
    assert len([a for a in page.all("a") if a.text.strip() == "shared-work"]) == 1
    assert "mate" in page.elements[0].text


def test_nodes_out_of_service_are_marked(client, team):
    pool = make_pool(team, nodes=3)
    first, second, _ = Node.objects.filter(flavor__pool=pool).order_by("name")
    node_set_state(nodes=Node.objects.filter(pk=first.pk), state=NodeState.CORDONED)
    node_set_state(nodes=Node.objects.filter(pk=second.pk), state=NodeState.DOWN)
    answer = part(client, pool, "occupancy")
    states = [str(e.attrs["class"]).split()[1] for e in Page(answer).all("li", class_="ty-node")]
    assert states == ["ty-node-cordoned", "ty-node-down", "ty-node-ready"]
    assert "2 nodes are out of service." in words(answer)


@pytest.mark.parametrize(("nodes", "kind", "drawn"), [(17, "ty-tile", 17), (129, "ty-bar", 9)])
def test_many_nodes_are_tiles_and_very_many_are_bars(client, team, nodes, kind, drawn):
    pool = make_pool(team, nodes=nodes)
    page = Page(part(client, pool, "occupancy"))
    assert len(page.all("li" if kind == "ty-tile" else "svg", class_=kind)) == drawn
    assert not page.all("li", class_="ty-node")


def test_tiles_tell_where_my_jobs_are_and_lead_to_their_node(client, team, user, other):
    pool = shared(team, other, nodes=20)
    make_job(user, pool, gpus=8, workers=2)
    make_job(other, pool, gpus=4)
    queue_cycle(pool.pk)
    page = Page(part(client, pool, "occupancy"))
    tiles = page.all("li", class_="ty-tile")
    assert [t.text.strip() for t in tiles[:4]] == ["0", "0", "4", "8"]
    assert len(page.all("li", class_="ty-tile-mine")) == 2
    address = str([a for a in page.all("a") if a.attrs.get("tabindex")][2].attrs["href"])
    assert address.startswith(f"/pools/{pool.pk}/?name=")
    assert client.get(address).status_code == 200


def test_a_large_pool_costs_and_weighs_no_more_than_a_middling_one(client, team):
    middling, large = make_pool(team, nodes=129), make_pool(team, nodes=1250)
    for name in PARTS:
        cost, weight = zip(*[_cost(client, pool, name) for pool in (middling, large)], strict=True)
        assert cost[0] == cost[1], name
        assert weight[1] < weight[0] + 500, name  # longer names and numbers, nothing else
        assert weight[1] < 60_000


def _cost(client, pool, name):
    with CaptureQueriesContext(connection) as seen:
        answer = part(client, pool, name)
    return len(seen), len(answer.content)


def test_flavors_are_drawn_side_by_side_at_the_same_scale(client, team):
    pool = make_pool(team, nodes=10)
    make_flavor(pool, nodes=10, gpus_per_node=4)
    page = Page(part(client, pool, "occupancy"))
    assert len(page.all("li", class_="ty-tile")) == 20
    assert len(page.all("p", class_="ty-flavor")) == 2


@pytest.mark.parametrize("nodes", [4, 40, 140])
def test_nodes_to_land_on_are_marked(client, team, nodes):
    pool, foreign = make_pool(team, nodes=nodes), make_pool(team, nodes=1)
    mine = list(Node.objects.filter(flavor__pool=pool).order_by("name").values_list("pk", flat=True)[:2])
    elsewhere = Node.objects.get(flavor__pool=foreign).pk
    query = f"?landing={mine[0]},{mine[1]},{elsewhere},,x,-1,{'9' * 30}"
    answer = part(client, pool, "occupancy", query)
    assert "Workers would land on 2 nodes (marked)." in words(answer)
    polled = str(Page(answer).by_id("pool-occupancy").attrs["hx-get"])
    assert client.get(polled, headers=HTMX).status_code == 204
    assert "land" not in words(part(client, pool, "occupancy", f"?landing={elsewhere}"))


def test_endlessly_many_nodes_to_land_on_are_cut(client, team):
    pool = make_pool(team, nodes=1)
    answer = part(client, pool, "occupancy", "?landing=" + ",".join(["7"] * 400))
    assert len(str(Page(answer).by_id("pool-occupancy").attrs["hx-get"])) < 600


def test_a_pool_without_nodes(client, team):
    pool = make_pool(team, nodes=0)
    for name in ("occupancy", "nodes"):
        assert "There are no nodes" in words(part(client, pool, name))
    assert "No job waits here." in words(part(client, pool, "queue"))


# --- queue


def queue_rows(answer):
    """(place, job, needs) as shown."""
    cells = [" ".join(td.text.split()) for td in Page(answer).all("td")]
    return [tuple(cells[i : i + 4][k] for k in (0, 1, 3)) for i in range(0, len(cells), 7)]


def test_the_queue_in_its_order(client, team, user, other):
    pool = shared(team, other, nodes=1)
    make_user(team, name="vip", high=True)
    user.memberships.update(may_use_high_priority=True)
    make_job(user, pool, gpus=8, name="normal-1")
    make_job(other, pool, gpus=8)
    make_job(user, pool, gpus=1, priority="low", name="low")
    make_job(user, pool, gpus=4, workers=2, priority="high", name="high")
    assert queue_rows(part(client, pool, "queue")) == [
        ("1", "high", "4 GPUs × 2"),
        ("2", "normal-1", "8 GPUs × 1"),
        ("3", "other team", "8 GPUs × 1"),
        ("4", "low", "1 GPU × 1"),
    ]
    assert "4 jobs wait for 25 GPUs." in words(part(client, pool, "queue"))


def test_since_when_a_job_waits(client, team, user):
    pool = make_pool(team, nodes=1, paused=True)
    job = make_job(user, pool)
    since = timezone.now() - timedelta(hours=2, minutes=10)
    Job.objects.filter(pk=job.pk).update(created_at=since)
    answer = part(client, pool, "queue")
    assert "2 h 10 m" in words(answer)
    (time,) = Page(answer).all("time")
    assert str(time.attrs["datetime"]).startswith(since.strftime("%Y-%m-%dT%H:%M"))
    assert "The resource pool is paused." in words(answer)


def test_a_job_that_came_back_waits_since_then_and_says_when_it_may_start(client, team, user):
    pool = make_pool(team, nodes=1)
    job = make_job(user, pool)
    queue_cycle(pool.pk)
    move([job.pk], State.DEPLOYING, State.QUEUED)
    Job.objects.update(
        created_at=timezone.now() - timedelta(days=3), eligible_at=timezone.now() + timedelta(hours=1)
    )
    answer = part(client, pool, "queue")
    assert Page(answer).all("span", class_="ty-number")[0].text == "0 s"
    assert "Starts again at the earliest at" in words(answer)


def test_a_queue_is_not_sent_again_for_the_time_that_passes(client, team, user, monkeypatch):
    pool = make_pool(team, nodes=1, paused=True)
    make_job(user, pool)
    page = Page(part(client, pool, "queue"))
    assert page.all("span", class_="ty-number")[0].attrs["data-elapsed"] == "0"
    later = timezone.now() + timedelta(minutes=3)
    monkeypatch.setattr("jobs.views.pool_parts.timezone.now", lambda: later)
    assert "3 m 0 s" in words(part(client, pool, "queue"))
    assert client.get(str(page.by_id("pool-queue").attrs["hx-get"]), headers=HTMX).status_code == 204


def test_every_page_tells_the_same_wait_of_a_job_that_came_back(client, team, user):
    """It waits since it came back; its creation is longer ago."""
    pool = make_pool(team, nodes=1)
    job = make_job(user, pool)
    queue_cycle(pool.pk)
    move([job.pk], State.DEPLOYING, State.QUEUED)
    pool.paused = True
    pool.save()
    now = timezone.now()
    back, long_ago = now - timedelta(hours=1, minutes=5), now - timedelta(days=3)
    Job.objects.update(created_at=long_ago, eligible_at=long_ago)
    Attempt.objects.update(placed_at=long_ago, ended_at=back)
    JobEvent.objects.filter(code="queued").update(at=back)
    pages = ("/", "/alerts/", "/jobs/", f"/jobs/{job.key}/", f"/jobs/{job.key}/progress/")
    for address in (*pages, f"/jobs/pools/{pool.pk}/queue/"):
        told = client.get(address).content.decode()
        assert "1 h 5 m" in told, address
        assert "3 d 0 h" not in told, address
    (row,) = client.get(f"/api/v1/pools/{pool.pk}/queue/").json()["results"]
    assert row["waiting_since"][:16] == f"{back:%Y-%m-%dT%H:%M}"


def test_only_the_first_of_a_long_queue_are_listed_and_the_rest_counted(client, team, user, other):
    pool = shared(team, other, nodes=1, paused=True)
    for _ in range(50):
        make_job(other, pool)
    few = CaptureQueriesContext(connection)
    with few:
        part(client, pool, "queue")
    make_job(user, pool, name="mine-behind")
    make_job(other, pool)
    many = CaptureQueriesContext(connection)
    with many:
        answer = part(client, pool, "queue")
    assert len(queue_rows(answer)) == 50
    assert "2 more jobs behind these. 1 of them is of your team" in words(answer)
    assert len(many) == len(few)


def test_a_short_queue_costs_as_much_as_a_long_one(client, team, user):
    pool = make_pool(team, nodes=1, paused=True)
    costs = []
    for _ in range(2):
        make_job(user, pool)
        with CaptureQueriesContext(connection) as seen:
            part(client, pool, "queue")
        costs.append(len(seen))
    assert costs[0] == costs[1]


def test_reasons_are_those_of_the_jobs_pages(user, team, other):
    """One decision for all rows says what the decision for each alone says."""
    pool = shared(team, other, nodes=3)
    occupy(pool, [0, 4, 8])
    user.memberships.update(may_use_high_priority=True)
    Grant.objects.filter(pool=pool, team=team).update(max_gpus=24, held_gpus=8)
    wanted = [
        (other, 8, 2),
        (user, 8, 2),
        (user, 8, 2),
        (other, 4, 1),
        (user, 4, 3),
        (other, 8, 1),
        (other, 8, 2),
    ]
    for who, gpus, workers in wanted:
        make_job(who, pool, gpus=gpus, workers=workers)
    make_job(user, pool, gpus=2, priority="high")
    for overtake in (60, 0):
        pool.max_overtake_minutes = overtake
        pool.save()
        queue_since(pool)
        shown = queue_read(pool=pool, teams=[t.pk for t in (team, other.memberships.get().team)]).rows
        alone = {job.key: job_waiting(job)[1] for job in Job.objects.filter(pool=pool)}
        assert [(r.key, r.reason and r.reason.code) for r in shown] == [
            (r.key, alone[r.key] and alone[r.key].code) for r in shown
        ]


def queue_since(pool):
    """Makes the first job that has to wait the head of its flavor, since an hour ago."""
    flavor = pool.flavors.get()
    flavor.head_job = Job.objects.filter(pool=pool, worker_gpus=8).order_by("pk")[0].pk
    flavor.head_since = timezone.now() - timedelta(minutes=59)
    flavor.save()


def test_the_head_says_until_when_it_can_be_overtaken(client, team, user):
    pool = make_pool(team, nodes=2)
    occupy(pool, [1, 1])
    make_job(user, pool, gpus=8, workers=2)
    make_job(user, pool, gpus=8)
    told = words(part(client, pool, "queue"))
    assert told.count("Smaller jobs behind it may start first until") == 1
    pool.discipline = "strict_fifo"
    pool.save()
    told = words(part(client, pool, "queue"))
    assert told.count("Nobody behind it starts before it does.") == 1
    assert "Waits behind the first job of the queue" in told


# --- nodes


def node_names(answer):
    return [th.text.split()[0] for th in Page(answer).all("th", scope="row")]


@pytest.fixture
def mixed(team, user, other):
    """Five nodes: mine, another team's, out of service, half idle, idle."""
    pool = shared(team, other, nodes=5)
    make_job(user, pool, gpus=8, name=NASTY)
    queue_cycle(pool.pk)
    make_job(other, pool, gpus=8)
    queue_cycle(pool.pk)
    nodes = list(Node.objects.filter(flavor__pool=pool).order_by("name"))
    node_set_state(nodes=Node.objects.filter(pk=nodes[2].pk), state=NodeState.DOWN)
    make_job(other, pool, gpus=4)
    queue_cycle(pool.pk)
    return pool


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", [0, 1, 2, 3, 4]),
        ("?show=mine", [0]),
        ("?show=out", [2]),
        ("?idle=1", [3, 4]),
        ("?idle=8", [4]),
        ("?idle=8&show=mine", []),
        ("?name=NODE-03", [3]),
        ("?idle=x&show=evil&page=99", [0, 1, 2, 3, 4]),
        ("?idle=99999999999999999999999", [0, 1, 2, 3, 4]),
        ("?idle=999999999999", []),
    ],
)
def test_nodes_are_narrowed_down_by_address(client, mixed, query, found):
    names = list(Node.objects.filter(flavor__pool=mixed).order_by("name").values_list("name", flat=True))
    assert node_names(part(client, mixed, "nodes", query)) == [names[i] for i in found]


def test_a_node_tells_its_state_its_period_and_my_jobs(client, mixed):
    today = timezone.localdate()
    Node.objects.filter(flavor__pool=mixed).update(prepaid_until=today - timedelta(days=1))
    answer = part(client, mixed, "nodes")
    told = words(answer)
    assert f"Ready 0 / 8 {NASTY} 8 GPUs · {answer.wsgi_request.user.username}" in told
    assert "Down – / 8" in told
    assert "<img" not in answer.content.decode()
    assert told.count("over") == 5


def test_nodes_come_a_page_at_a_time(client, team):
    pool = make_pool(team, nodes=120)
    first = part(client, pool, "nodes", "?idle=8")
    assert "1–50 of 120" in words(first)
    following = str(Page(first).by_id("nodes-next").attrs["href"])
    second = client.get(following, headers=HTMX)
    assert "51–100 of 120" in words(second)
    assert not set(node_names(first)) & set(node_names(second))
    polled = str(Page(second).by_id("pool-nodes-rows").attrs["hx-get"])
    assert client.get(polled, headers=HTMX).status_code == 204


def test_on_the_pools_page_the_choice_goes_into_its_address(client, team):
    pool = make_pool(team)
    here = {"hx-current-url": f"http://testserver/pools/{pool.pk}/?idle=2"}
    chosen = part(client, pool, "nodes", "?idle=4&show=&name=", **here)
    assert chosen["HX-Replace-Url"] == f"/pools/{pool.pk}/?idle=4"
    assert part(client, pool, "nodes", "", **here)["HX-Replace-Url"] == f"/pools/{pool.pk}/"
    elsewhere = {"hx-current-url": "http://testserver/jobs/create/"}
    assert "HX-Replace-Url" not in part(client, pool, "nodes", "?idle=4", **elsewhere)
    assert "HX-Replace-Url" not in part(client, pool, "nodes", "?idle=4&seen=x", **here)


@pytest.mark.parametrize("name", PARTS)
def test_no_inline_style_or_script(client, mixed, name):
    elements = Page(part(client, mixed, name)).elements
    assert not [e for e in elements if "style" in e.attrs or any(a.startswith("on") for a in e.attrs)]
