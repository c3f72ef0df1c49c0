"""REST: zones, pools, specs and nodes."""

import pytest
from django.utils import timezone

from pools.models import Node, NodeState, WorkerSpec
from pools.services import node_set_state
from tests.factories import make_flavor, make_job, make_pool, make_team, make_user, make_zone, occupy

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return make_team()


@pytest.fixture
def client(api, team):
    return api(make_user(team))


def results(response):
    assert response.status_code == 200, response.content
    return response.json()["results"]


@pytest.mark.parametrize(
    ("used", "numbers"), [([5, 5, 6], [8, 3, 0, 0]), ([0, 0, 3, 5], [24, 11, 5, 2])], ids=["3,3,2", "8,8,5,3"]
)
def test_startable_is_counted_node_by_node(client, team, used, numbers):
    pool = make_pool(team, nodes=len(used))
    occupy(pool, used)
    shown = client.get(f"/api/v1/pools/{pool.pk}/").json()
    assert [spec["startable"] for spec in shown["specs"]] == numbers
    assert shown["idle_gpus"] == 8 * len(used) - sum(used)


def test_a_pool_says_what_the_form_offers(client, team):
    zone = make_zone(public_data="/srv/public")
    pool = make_pool(team, nodes=2, zone=zone, network="roce")
    make_job(make_user(team), pool, gpus=8, workers=2)
    shown = client.get(f"/api/v1/pools/{pool.pk}/").json()
    flavor = pool.flavors.get()
    assert shown | {"specs": []} == {
        "id": pool.pk,
        "name": pool.name,
        "zone": {"id": zone.pk, "name": zone.name, "public_data": True},
        "engine": "local",
        "discipline": "best_effort_fifo",
        "idle_gpus": 16,
        "total_gpus": 16,
        "queued_jobs": 1,
        "flavors": [
            {
                "id": flavor.pk,
                "name": flavor.name,
                "gpu_model": "A100",
                "gpus_per_node": 8,
                "network": "roce",
                "network_label": "RoCE 1*200G",
                "nodes": 2,
                "idle_gpus": 16,
                "custom_startable": 16,
            }
        ],
        "specs": [],
    }
    assert set(shown["specs"][0]) == {"id", "name", "flavor", "gpus", "cpus", "memory_gib", "startable"}
    assert results(client.get("/api/v1/zones/")) == [shown["zone"]]


def test_strangers_see_nothing_of_a_pool(client):
    pool = make_pool(make_team())
    for path in ("pools", "zones", "specs", f"specs/?pool={pool.pk}"):
        assert results(client.get(f"/api/v1/{path}".rstrip("/") + ("" if "?" in path else "/"))) == []
    for path in ("", "nodes/", "queue/"):
        assert client.get(f"/api/v1/pools/{pool.pk}/{path}").status_code == 404


def test_specs_of_one_pool_without_retired_ones(client, team):
    pool = make_pool(team)
    make_pool(team)
    WorkerSpec.objects.filter(flavor__pool=pool, gpus=4).update(retired_at=timezone.now())
    specs = results(client.get(f"/api/v1/specs/?pool={pool.pk}"))
    assert [(spec["gpus"], spec["pool"], spec["startable"]) for spec in specs] == [
        (1, pool.pk, 32),
        (2, pool.pk, 16),
        (8, pool.pk, 4),
    ]
    assert len(results(client.get("/api/v1/specs/"))) == 7
    assert client.get("/api/v1/specs/?pool=x").status_code == 400


def test_nodes_of_a_pool(client, team):
    pool = make_pool(team, nodes=3)
    occupy(pool, [5])
    first, second, third = Node.objects.order_by("name")
    node_set_state(nodes=Node.objects.filter(pk=second.pk), state=NodeState.CORDONED)
    node_set_state(nodes=Node.objects.filter(pk=third.pk), state=NodeState.RETIRED)
    nodes = results(client.get(f"/api/v1/pools/{pool.pk}/nodes/"))
    assert [(n["name"], n["state"], n["schedulable"], n["idle_gpus"], n["total_gpus"]) for n in nodes] == [
        (first.name, "ready", True, 3, 8),
        (second.name, "cordoned", False, 8, 8),
    ]


def test_the_queue_tells_of_other_teams_only_what_takes_room(client, team):
    other = make_team()
    pool = make_pool(team, other)
    theirs = make_job(make_user(other), pool, gpus=8, name="secret")
    mine = make_job(make_user(team), pool, team=team.pk, gpus=4, priority="low")
    urgent = make_job(make_user(team, high=True), pool, team=team.pk, gpus=2, priority="high")
    rows = results(client.get(f"/api/v1/pools/{pool.pk}/queue/"))
    assert [(r["id"], r["name"], r["priority"], r["total_gpus"]) for r in rows] == [
        (urgent.key, "a job", "high", 2),
        (None, None, "normal", 8),
        (mine.key, "a job", "low", 4),
    ]
    assert "secret" not in str(rows)
    assert theirs.key not in str(rows)
    walked = client.get(f"/api/v1/pools/{pool.pk}/queue/?page_size=2").json()
    assert [r["id"] for r in results(client.get(walked["next"]))] == [mine.key]


def test_the_number_of_queries_does_not_grow(client, team, django_assert_max_num_queries):
    for _ in range(6):
        pool = make_pool(team, nodes=2)
        make_flavor(pool, nodes=2)
    with django_assert_max_num_queries(3):
        assert len(results(client.get("/api/v1/pools/"))) == 6
    with django_assert_max_num_queries(4):
        client.get(f"/api/v1/pools/{pool.pk}/")
    with django_assert_max_num_queries(2):
        client.get(f"/api/v1/pools/{pool.pk}/nodes/")
