"""Statements that PostgreSQL prepares: read and planned once for a connection, then only run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from django.db import connection
from psycopg import Cursor, sql
from psycopg.types.numeric import Int8

Parameter = tuple[Any, int | None]
_MARKS = re.compile(r"%[s%]")


def with_constants(text: str, parameters: Sequence[Parameter]) -> tuple[str, list[Parameter]]:
    """The text with its constants written into it, and the parameters that are left, which are arguments.

    An index that holds only some rows is used only where it is known before running that no others count.
    """
    left = iter(parameters)
    arguments = [parameter for parameter in parameters if parameter[1] is not None]

    def put(mark: re.Match[str]) -> str:
        if mark[0] == "%%":
            return mark[0]
        constant, argument = next(left)
        return mark[0] if argument is not None else _literal(constant)

    return _MARKS.sub(put, text), arguments


def _literal(constant: Any) -> str:
    connection.ensure_connection()
    return sql.Literal(constant).as_string(connection.connection).replace("%", "%%")


def fetched_prepared(
    database: Any, statements: Sequence[tuple[str, Sequence[Any]]]
) -> list[list[tuple[Any, ...]]]:
    """The rows of each statement, all sent before the first is answered.

    `database` is a connection of Django's, that of this thread: looking it up takes time too.
    """
    if not statements:
        return []
    database.close_if_health_check_failed()
    database.ensure_connection()
    database.validate_no_broken_transaction()
    connected = database.connection
    with database.wrap_database_errors, connected.pipeline() if len(statements) > 1 else nullcontext():
        # Prepared at the first use, which psycopg checks: that a later one failed it would never know.
        cursors = [
            Cursor(connected).execute(text, _sized(values), prepare=True) for text, values in statements
        ]
        return [cursor.fetchall() for cursor in cursors]


def _sized(values: Sequence[Any]) -> list[Any]:
    """Whole numbers all go as one type: else a statement would be prepared anew for each size of them."""
    return [Int8(one) if type(one) is int else one for one in values]
