"""What administrators are told of pools."""

from datetime import date, timedelta

import pytest
from django.db import transaction

from alerts.models import Notice, Reading
from alerts.rules import Subject
from alerts.subjects import told
from pools.models import Node, NodeState
from pools.notices import endings_tell
from pools.services import node_set_state
from tests.alerts.made import make_channel, make_rule
from tests.factories import make_pool, make_user

pytestmark = pytest.mark.django_db

TODAY = date(2026, 3, 1)


@pytest.fixture
def admin():
    return make_user(is_staff=True)


@pytest.fixture
def pool():
    return make_pool(nodes=64, name="a pool")


def names(pool, n=64):
    return [node.name for node in Node.objects.filter(flavor__pool=pool).order_by("name")[:n]]


def end(pool, n, days):
    nodes = Node.objects.filter(name__in=names(pool)[:n], prepaid_until=None)
    return nodes.update(prepaid_until=TODAY + timedelta(days=days))


@pytest.mark.parametrize(
    ("state", "code", "title"),
    [
        (NodeState.DOWN, "node_down", "Node down: a pool"),
        (NodeState.DRAINED, "node_drained", "Node drained: a pool"),
    ],
)
def test_nodes_that_go_out_of_service_together_are_one_notice(admin, pool, state, code, title):
    make_user()
    make_user(is_staff=True, is_active=False)
    channel = make_channel(admin)
    make_rule(channel, Subject.POOL, None, code)
    two = names(pool, 2)
    for _ in range(2):  # again is nothing new
        node_set_state(nodes=Node.objects.filter(name__in=two), state=state)
    notice = Notice.objects.get()
    assert (notice.codes, notice.subject, notice.subject_id) == ([code], "pool", pool.pk)
    assert notice.data == {"pool": "a pool", "nodes": two, "count": 2}
    assert list(Reading.objects.values_list("user", flat=True)) == [admin.pk]
    assert channel.deliveries.get().notice == notice
    said = told(notice)
    assert (said.title, said.text) == (title, ", ".join(two))
    assert dict(said.facts)["Nodes"] == ", ".join(two)
    assert (said.path, said.name, said.id) == (f"/pools/{pool.pk}/", "a pool", str(pool.pk))


def test_each_time_counts(admin, pool):
    node = Node.objects.filter(name=names(pool)[0])
    for state in (NodeState.DOWN, NodeState.READY, NodeState.DOWN):
        node_set_state(nodes=node.all(), state=state)
    assert Notice.objects.count() == 2


@pytest.mark.parametrize("state", [NodeState.CORDONED, NodeState.READY, NodeState.RETIRED])
def test_other_states_are_no_news(admin, pool, state):
    node_set_state(nodes=Node.objects.filter(name=names(pool)[0]), state=state)
    assert not Notice.objects.exists()


def test_nodes_of_two_pools_are_two_notices(admin, pool):
    other = make_pool(nodes=1)
    node_set_state(nodes=Node.objects.all(), state=NodeState.DOWN)
    assert set(Notice.objects.values_list("subject_id", flat=True)) == {pool.pk, other.pk}
    of_pool = Notice.objects.get(subject_id=pool.pk)
    assert (len(of_pool.data["nodes"]), of_pool.data["count"]) == (20, 64)
    assert dict(told(of_pool).facts)["Nodes"].endswith(" and 44 more")


def test_what_is_rolled_back_is_not_told(admin, pool):
    with transaction.atomic():
        node_set_state(nodes=Node.objects.all(), state=NodeState.DOWN)
        transaction.set_rollback(True)
    assert not Notice.objects.exists()


def test_sixty_four_nodes_with_one_end_are_one_notice(admin, pool):
    assert end(pool, 64, 30) == 64
    assert [endings_tell(today=TODAY + timedelta(days=n)) for n in (-1, 0, 0, 5, 30)] == [0, 1, 0, 0, 0]
    notice = Notice.objects.get()
    named = f"{', '.join(names(pool, 3))} and 61 more"
    assert told(notice).text == f"The prepaid period of 64 nodes ends on 2026-03-31: {named}."


def test_nodes_that_join_later_are_told_of_once(admin, pool):
    for nodes, notices in ((2, 1), (5, 1), (5, 0)):
        end(pool, nodes, 10)
        assert endings_tell(today=TODAY) == notices
    assert [n.data["count"] for n in Notice.objects.order_by("pk")] == [2, 3]


def test_another_date_is_another_notice_and_retired_nodes_are_none(admin, pool):
    end(pool, 2, 10)
    end(pool, 4, 11)
    end(pool, 6, 31)
    end(pool, 8, -1)
    Node.objects.filter(name=names(pool)[0]).update(state=NodeState.RETIRED)
    assert endings_tell(today=TODAY) == 2
    assert sorted((n.data["until"], n.data["count"]) for n in Notice.objects.all()) == [
        ("2026-03-11", 1),
        ("2026-03-12", 2),
    ]
    Node.objects.filter(prepaid_until=date(2026, 3, 11)).update(prepaid_until=date(2026, 3, 20))
    assert endings_tell(today=TODAY) == 1


def test_endings_take_a_fixed_number_of_statements(admin, pool, django_assert_max_num_queries):
    end(pool, 64, 10)
    endings_tell(today=TODAY)
    with django_assert_max_num_queries(2):
        endings_tell(today=TODAY)
