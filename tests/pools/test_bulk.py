"""Rows written in one statement are what the ORM reads back, on both databases."""

from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, transaction

from jobs.models import JobEvent, Worker
from jobs.scheduling import queue_cycle
from pools.bulk import Same, bulk_insert, bulk_update
from pools.models import Node
from tests.factories import make_job, make_pool, make_team, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def job():
    team = make_team()
    return make_job(make_user(team), make_pool(team))


AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def test_values_of_every_kind_come_back(job):
    data = [{"汉": [1, None, True]}, {}, {"quote": 'it\'s "x" \\ \n'}]
    ids = bulk_insert(
        JobEvent,
        {"job": [job.pk] * 3, "at": Same(AT), "code": ["a", "b'", "汉"], "data": data, "actor": Same(None)},
        returning=("id", "code"),
    )
    rows = {e.pk: e for e in JobEvent.objects.exclude(code="created")}
    assert sorted(code for _, code in ids) == ["a", "b'", "汉"]
    assert [rows[pk].code for pk, _ in sorted(ids)] == ["a", "b'", "汉"]
    assert [e.data for e in sorted(rows.values(), key=lambda e: e.pk)] == data
    assert {e.at for e in rows.values()} == {AT}


def test_lists_and_nulls_as_values(job):
    queue_cycle(job.pool_id)
    attempt = job.attempts.get()
    node = Node.objects.first()
    bulk_insert(
        Worker,
        {
            "attempt": Same(attempt.pk),
            "rank": [1, 2],
            "node": [node.pk, None],
            "node_name": Same("n"),
            "gpus": [[0, 1], []],
        },
    )
    assert [(w.node_id, w.gpus) for w in attempt.workers.filter(rank__gt=0)] == [
        (node.pk, [0, 1]),
        (None, []),
    ]


def test_one_json_list_for_all_rows(job):
    attempt = {"attempt": job.attempts.create(number=9, placed_at=AT).pk}
    bulk_insert(
        Worker,
        {"attempt": Same(attempt["attempt"]), "rank": [0, 1], "node_name": Same(""), "gpus": Same([7])},
    )
    assert [w.gpus for w in Worker.objects.all()] == [[7], [7]]


def test_update_by_key(job):
    nodes = list(Node.objects.order_by("pk"))
    bulk_update(Node, {"id": [n.pk for n in nodes[:2]], "idle": [3, 4], "name": ["x", "y"]})
    assert [(n.name, n.idle) for n in Node.objects.order_by("pk")[:3]] == [
        ("x", 3),
        ("y", 4),
        (nodes[2].name, 8),
    ]


def test_nothing_is_no_statement(job, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert bulk_insert(JobEvent, {"job": [], "at": Same(AT), "code": [], "data": []}) == []
        bulk_update(Node, {"id": [], "idle": []})


def test_columns_of_different_height_are_refused(job):
    with pytest.raises(ValueError, match="different height"):
        bulk_update(Node, {"id": [1, 2], "idle": [3]})


def test_constraints_hold(job):
    node = Node.objects.first()
    with pytest.raises(IntegrityError), transaction.atomic():
        bulk_insert(
            Node,
            {
                "flavor": Same(node.flavor_id),
                "name": [node.name],
                "state": Same("ready"),
                "schedulable": Same(True),
                "idle": [8],
            },
        )
