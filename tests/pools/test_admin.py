"""Admin pages of pools: counts stay right, and what would break something is refused by field."""

import datetime as dt
from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import reverse

from jobs.scheduling import queue_cycle
from pools.forms import names_expand
from pools.models import Flavor, Grant, Node, NodeState, Pool, WorkerSpec
from tests.admin_pages import errors, filled
from tests.factories import make_flavor, make_job, make_pool, make_team, make_user, make_zone

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return make_team()


@pytest.fixture
def pool(team):
    return make_pool(team)


@pytest.fixture
def hints(monkeypatch):
    """Pools whose queue was told to move."""
    told = []
    monkeypatch.setattr("pools.hints.send", lambda task, *args: told.append((task, *args)))
    return told


def change(client, row, **values):
    """Opens the change page of a row, changes values, and saves."""
    address = reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])
    return client.post(address, filled(client.get(address)) | values)


def add(client, model, **values):
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add")
    return client.post(address, filled(client.get(address)) | values)


def act(client, model, name, rows):
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    data = {"action": name, "_selected_action": [row.pk for row in rows]}
    return client.post(address, data, follow=True)


def counts_are_right():
    out = StringIO()
    call_command("recount", stdout=out)
    return out.getvalue() == "all counts are right\n"


def place_job(team, pool, gpus=8):
    job = make_job(make_user(team), pool, gpus=gpus)
    queue_cycle(pool.pk)
    job.refresh_from_db()
    assert job.state == "deploying"
    return job


# -- nodes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "state", "idle"), [("cordon", "cordoned", 16), ("down", "down", 16)])
def test_actions_take_nodes_out_and_back(admin_client, pool, hints, name, state, idle):
    nodes = Node.objects.order_by("name")[:2]
    act(admin_client, Node, name, nodes)
    assert set(Node.objects.filter(schedulable=False).values_list("state", flat=True)) == {state}
    assert Flavor.objects.get().idle_nodes == [0] * 8 + [2]
    assert counts_are_right()
    act(admin_client, Node, "ready", nodes)
    assert Flavor.objects.get().idle_nodes == [0] * 8 + [4]
    assert counts_are_right()


def test_action_tells_the_queue(admin_client, pool, hints, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        act(admin_client, Node, "cordon", Node.objects.all())
    assert ("jobs.tasks.queue_cycle", pool.pk) in hints


def test_node_in_use_is_not_retired(admin_client, team, pool):
    place_job(team, pool)
    busy = Node.objects.get(idle=0)
    page = act(admin_client, Node, "retire", Node.objects.all())
    assert f"Workers hold GPUs of these nodes: {busy.name}" in page.content.decode()
    assert not Node.objects.filter(state=NodeState.RETIRED).exists()
    refused = change(admin_client, busy, state="retired")
    assert errors(refused) == {"state": ["node_in_use"]}
    assert counts_are_right()


def test_form_changes_state_by_the_service(admin_client, pool):
    node = Node.objects.first()
    assert change(admin_client, node, state="retired", prepaid_until="2030-01-31").status_code == 302
    node.refresh_from_db()
    assert (node.state, node.schedulable, node.prepaid_until) == ("retired", False, dt.date(2030, 1, 31))
    assert Flavor.objects.get().node_count == 3
    assert counts_are_right()


def test_only_a_retired_node_is_deleted(admin_client, pool):
    node = Node.objects.first()
    address = reverse("admin:pools_node_delete", args=[node.pk])
    assert f"Retire these nodes first: {node.name}" in admin_client.post(address).content.decode()
    change(admin_client, node, state="retired")
    assert admin_client.post(address, {"post": "yes"}).status_code == 302
    assert Node.objects.count() == 3
    assert counts_are_right()


def test_nodes_are_added_by_pattern(admin_client, pool):
    flavor = Flavor.objects.get()
    done = add(admin_client, Node, flavor=flavor.pk, names="g-[001-032], h-1", prepaid_until="2030-01-31")
    assert done.status_code == 302
    new = Node.objects.filter(prepaid_until=dt.date(2030, 1, 31))
    assert sorted(new.values_list("name", flat=True)) == [*(f"g-{n:03}" for n in range(1, 33)), "h-1"]
    assert "33 nodes were added" in admin_client.get(done.url).content.decode()
    flavor.refresh_from_db()
    assert (flavor.node_count, flavor.idle_nodes[8]) == (37, 37)
    assert counts_are_right()


def test_nodes_are_added_by_number_and_go_on_counting(admin_client, pool):
    flavor = Flavor.objects.get()
    for _ in range(2):
        add(admin_client, Node, flavor=flavor.pk, count=2)
    mine = Node.objects.filter(name__regex=rf"^{flavor.name}-[0-9]+$").values_list("name", flat=True)
    assert sorted(mine) == [f"{flavor.name}-{n}" for n in (1, 2, 3, 4)]
    assert counts_are_right()


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({}, "names_or_count"),
        ({"names": "a", "count": 2}, "names_or_count"),
        ({"names": "g-[3-1]"}, "names"),
        ({"names": "g-[1-"}, "names"),
        ({"names": "sp ace, ü"}, "names"),
        ({"names": "g-[1-99999999]"}, "too_many"),
    ],
)
def test_bad_names_are_refused(admin_client, pool, values, code):
    refused = add(admin_client, Node, flavor=Flavor.objects.get().pk, **values)
    assert errors(refused) == {"names": [code]}
    assert Node.objects.count() == 4


def test_names_in_use_are_refused(admin_client, pool):
    node = Node.objects.first()
    refused = add(admin_client, Node, flavor=node.flavor_id, names=f"new, {node.name}")
    assert errors(refused) == {"names": ["taken"]}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("a\nb,c; d", ["a", "b", "c", "d"]),
        ("g-[1,3-4]", ["g-1", "g-3", "g-4"]),
        ("g-[09-11]", ["g-09", "g-10", "g-11"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("g-[1, 2] h", ["g-1", "g-2", "h"]),
    ],
)
def test_names_expand(text, names):
    assert list(names_expand(text)) == names


# -- pools, flavors, specs, zones ----------------------------------------------------------------


def test_saving_a_pool_moves_its_queue(admin_client, pool, hints, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        assert change(admin_client, pool, paused="on").status_code == 302
    pool.refresh_from_db()
    assert pool.paused
    assert ("jobs.tasks.queue_cycle", pool.pk) in hints


def test_quota_is_changed_and_the_count_beside_it_stays(admin_client, team, pool):
    place_job(team, pool)
    assert change(admin_client, pool, **{"grants-0-max_gpus": "8"}).status_code == 302
    grant = Grant.objects.get()
    assert (grant.max_gpus, grant.held_gpus) == (8, 8)
    assert counts_are_right()


def test_grant_of_a_team_with_running_jobs_stays(admin_client, team, pool):
    place_job(team, pool)
    page = change(admin_client, pool, **{"grants-0-DELETE": "on"})
    assert "the team holds 8 GPUs" in page.content.decode()
    assert Grant.objects.exists()


def test_pool_with_jobs_is_retired_not_deleted(admin_client, team, pool):
    make_job(make_user(team), pool)
    page = admin_client.post(reverse("admin:pools_pool_delete", args=[pool.pk]), {"post": "yes"})
    text = page.content.decode()
    assert "1 jobs refer to it. Retire it instead." in text
    assert "4 resource nodes refer to it." in text
    act(admin_client, Pool, "retire", [pool])
    pool.refresh_from_db()
    assert pool.retired_at
    act(admin_client, Pool, "put_back", [pool])
    pool.refresh_from_db()
    assert pool.retired_at is None


def test_pool_is_paused_and_goes_on(admin_client, pool):
    act(admin_client, Pool, "pause", [pool])
    assert Pool.objects.get().paused
    act(admin_client, Pool, "resume", [pool])
    assert not Pool.objects.get().paused


def test_new_flavor_has_right_counts(admin_client, pool):
    done = add(admin_client, Flavor, pool=pool.pk, name="h20", gpu_model="H20", gpus_per_node=4)
    assert done.status_code == 302
    assert Flavor.objects.get(name="h20").idle_nodes == [0] * 5
    assert counts_are_right()


def test_size_of_a_node_is_fixed_once_there_are_nodes(admin_client, pool):
    flavor = Flavor.objects.get()
    change(admin_client, flavor, gpus_per_node=4, gpu_model="H20")
    flavor.refresh_from_db()
    assert (flavor.gpus_per_node, flavor.gpu_model) == (8, "H20")
    assert counts_are_right()


def test_size_of_a_node_changes_while_there_are_none(admin_client, pool):
    flavor = make_flavor(pool, nodes=0, gpus_per_node=4)
    WorkerSpec.objects.filter(flavor=flavor, gpus__gt=2).delete()
    assert change(admin_client, flavor, gpus_per_node=2).status_code == 302
    flavor.refresh_from_db()
    assert flavor.idle_nodes == [0, 0, 0]
    assert counts_are_right()


def test_node_does_not_shrink_below_its_specs(admin_client, pool):
    flavor = make_flavor(pool, nodes=0)
    assert errors(change(admin_client, flavor, gpus_per_node=2)) == {"gpus_per_node": ["specs_larger"]}


def test_network_label_needs_a_network(admin_client, pool):
    assert errors(change(admin_client, Flavor.objects.get(), network_label="RoCE 1*200G")) == {
        "network_label": ["label_without_network"]
    }


@pytest.mark.parametrize(
    ("values", "field"),
    [({"gpus": 8}, "gpus"), ({"shm_gib": 65, "memory_gib": 64}, "shm_gib"), ({"cpus": 33}, "cpus")],
)
def test_spec_takes_no_more_than_a_node_has(admin_client, pool, values, field):
    flavor = make_flavor(pool, gpus_per_node=4)
    Flavor.objects.filter(pk=flavor.pk).update(cpus=32)
    refused = add(admin_client, WorkerSpec, **({"flavor": flavor.pk, "name": "big", "gpus": 4} | values))
    assert errors(refused) == {field: ["more_than_a_node"]}


def test_spec_keeps_its_gpus(admin_client, pool):
    spec = WorkerSpec.objects.get(gpus=2)
    assert change(admin_client, spec, gpus=8, cpus=3).status_code == 302
    spec.refresh_from_db()
    assert (spec.gpus, spec.cpus) == (2, 3)


@pytest.mark.parametrize(
    ("path", "code"), [("data", "not_absolute"), ("/a/../etc", "dots"), ("{data}/secrets", "console_data")]
)
def test_public_data_is_a_folder_apart(admin_client, settings, path, code):
    refused = change(admin_client, make_zone(), public_data=path.format(data=settings.DATA_DIR))
    assert errors(refused) == {"public_data": [code]}


def test_zone_in_use_is_not_deleted(admin_client, pool):
    page = admin_client.post(reverse("admin:pools_zone_delete", args=[pool.zone_id]), {"post": "yes"})
    assert "1 resource pools refer to it. Move them to another zone first." in page.content.decode()
