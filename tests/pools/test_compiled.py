"""A query whose SQL was made once answers as the queryset it was made from."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from jobs.models import Job
from pools.compiled import Compiled
from pools.models import Flavor, Node
from tests.factories import make_job, make_pool, make_team, make_user

pytestmark = pytest.mark.django_db


def test_its_text_is_kept_and_its_rows_are_of_now(django_assert_num_queries) -> None:
    made = []

    def build(pool: int, idle: int):
        made.append((pool, idle))
        nodes = Node.objects.filter(flavor__pool=pool, idle__gte=idle, schedulable=True).order_by("name")
        return nodes.values_list("name", "idle", "schedulable")

    first, second = make_pool(nodes=2), make_pool(nodes=1, gpus_per_node=4)
    query = Compiled(build)
    with django_assert_num_queries(3):
        answers = [
            [tuple(row) for row in query.rows(*asked)]
            for asked in ((first.pk, 8), (second.pk, 1), (second.pk, 8))
        ]
    nodes = Node.objects.filter(flavor__pool=first.pk).order_by("name")
    assert answers[0] == [(node.name, 8, True) for node in nodes]
    assert [row[1] for row in answers[1]] == [4]
    assert answers[2] == []
    assert len(made) == 2  # what differs between the two is an argument


def test_columns_come_as_the_models_have_them() -> None:
    pool = make_pool(make_team(), nodes=3)
    rows = Compiled(lambda pk: Flavor.objects.filter(pool=pk).values_list("idle_nodes", "head_since")).rows(
        pool.pk
    )
    assert [tuple(row) for row in rows] == [([0, 0, 0, 0, 0, 0, 0, 0, 3], None)]


def test_a_text_that_depends_on_its_arguments_is_refused() -> None:
    sliced = Compiled(lambda most: Node.objects.order_by("pk").values_list("pk")[:most])
    with pytest.raises(ValueError, match="depends"):
        sliced.rows(3)


def test_a_list_of_any_length_and_moments_are_arguments() -> None:
    team = make_team()
    pool = make_pool(team)
    job = make_job(make_user(team), pool)
    query = Compiled(
        lambda until, *pools: Job.objects.filter(pool__in=pools, created_at__lte=until).values_list(
            "pk", "created_at"
        )
    )
    later = timezone.now() + timedelta(minutes=1)
    assert [tuple(row) for row in query.rows(later, pool.pk)] == [(job.pk, job.created_at)]
    assert len(query.rows(later, pool.pk, pool.pk + 1)) == 1
    assert len(query.rows(later, pool.pk + 1)) == 0
    assert len(query.rows(datetime(2020, 1, 1, tzinfo=UTC), pool.pk)) == 0
