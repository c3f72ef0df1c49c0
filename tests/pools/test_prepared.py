"""What PostgreSQL is made to prepare: once a connection, with its constants in the text."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.models import Value
from django.db.transaction import TransactionManagementError

from pools.compiled import Compiled, answers
from pools.models import Node
from pools.prepared import fetched_prepared, with_constants
from tests.factories import make_pool

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL prepares statements"),
]


def prepared() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        return [text for (text,) in cursor.fetchall()]


def test_a_query_is_prepared_once_for_numbers_of_all_sizes() -> None:
    pool = make_pool(nodes=2)
    query = Compiled(lambda pk: Node.objects.filter(flavor__pool=pk, schedulable=True).values_list("name"))
    before = len(prepared())
    assert [len(query.rows(pk)) for pk in (pool.pk, 2**20 + pool.pk, 2**40, pool.pk)] == [2, 0, 0, 2]
    assert len(prepared()) == before + 1


def test_constants_are_in_the_text_and_arguments_are_not() -> None:
    pool = make_pool(nodes=1)
    query = Compiled(
        lambda pk: (
            Node.objects.filter(flavor__pool=pk).annotate(told=Value("100 % 'sure' %s")).values_list("told")
        )
    )
    assert query.rows(pool.pk) == [("100 % 'sure' %s",)]
    texts = [text for text in prepared() if "told" in text]
    assert "100 % ''sure'' %s" in texts[0]
    assert "$1" in texts[0]


def test_marks_that_are_no_parameters_stay() -> None:
    text, left = with_constants("a %% b = %s AND c = %s AND d = %s", [("x%", None), (None, 0), (7, None)])
    assert text == "a %% b = 'x%%' AND c = %s AND d = 7"
    assert left == [(None, 0)]


def test_several_are_asked_together_and_each_gets_its_own_rows() -> None:
    pool = make_pool(nodes=2)
    names = Compiled(lambda pk: Node.objects.filter(flavor__pool=pk).order_by("name").values_list("name"))
    idle = Compiled(
        lambda pk, least: Node.objects.filter(flavor__pool=pk, idle__gte=least).values_list("idle")
    )
    found = answers(names.asking(pool.pk), None, idle.asking(pool.pk, 8), idle.asking(pool.pk, 9))
    assert [len(rows) for rows in found] == [2, 0, 2, 0]
    assert set(found[2]) == {(8,)}


def test_an_error_is_one_of_djangos_and_the_connection_goes_on() -> None:
    with pytest.raises(DatabaseError), transaction.atomic():
        fetched_prepared(connection, [("SELECT 1", []), ("SELECT no_such_column", [])])
    assert fetched_prepared(connection, [("SELECT 1", []), ("SELECT 2", [])]) == [[(1,)], [(2,)]]


def test_statements_that_were_skipped_after_an_error_are_prepared_later() -> None:
    good = [("SELECT 1 AS a", []), ("SELECT 2 AS b", [])]
    for _ in range(2):
        fetched_prepared(connection, good)
    with pytest.raises(DatabaseError), transaction.atomic():
        fetched_prepared(connection, [("SELECT 1 / 0", []), ("SELECT 3 AS c", []), *good])
    for _ in range(3):
        assert fetched_prepared(connection, [*good, ("SELECT 3 AS c", [])]) == [[(1,)], [(2,)], [(3,)]]


def test_nothing_is_asked_where_there_is_nothing_to_ask(django_assert_num_queries) -> None:
    with django_assert_num_queries(0):
        assert answers(None) == [[]]


def test_a_transaction_that_failed_is_not_gone_on_with() -> None:
    with transaction.atomic():
        with pytest.raises(DatabaseError), transaction.atomic(savepoint=False):
            fetched_prepared(connection, [("SELECT no_such_column", [])])
        with pytest.raises(TransactionManagementError):
            fetched_prepared(connection, [("SELECT 1", [])])
        transaction.set_rollback(False)
        transaction.set_rollback(True)
