"""Queries whose SQL is made once: where a page asks the same again and again, building the text each time
takes longer than the database takes to answer.

PostgreSQL is made to prepare them: reading and planning such a text took it longer than running the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.db import DEFAULT_DB_ALIAS, connection, connections, models

from pools.prepared import Parameter, fetched_prepared, with_constants

Argument = int | datetime
Rows = Sequence[tuple[Any, ...]]
_FIRST_MARKS = (
    30_000,
    31_000,
)  # stand for numbers while the text is made; any column of numbers can hold them
_MOMENT = datetime(2000, 1, 1, tzinfo=UTC)  # so many days later stand for moments


class _Text(NamedTuple):
    """`values` are the parameters in order: a constant, or the number of the argument that goes there."""

    sql: str
    values: tuple[tuple[Any, int | None], ...]
    converters: tuple[tuple[int, tuple[Callable[..., Any], ...], Any], ...]


class Asking(NamedTuple):
    text: _Text
    values: list[Any]


class Compiled:
    """Of a function from numbers and moments to a `values_list` queryset: the rows for such arguments.

    What the function does with its arguments must not depend on their values. There is one text for each
    kind of database and each sequence of kinds of arguments.
    """

    def __init__(self, build: Callable[..., models.QuerySet[Any, Any]]) -> None:
        self._build = build
        self._texts: dict[tuple[Any, ...], _Text] = {}

    def rows(self, *arguments: Argument) -> Rows:
        """In one query."""
        return answers(self.asking(*arguments))[0]

    def asking(self, *arguments: Argument) -> Asking:
        """The query for such arguments, to be asked together with others."""
        key = (connections[DEFAULT_DB_ALIAS].vendor, *map(type, arguments))
        text = self._texts.get(key)
        if text is None:
            text = self._texts[key] = _compile(self._build, arguments)
        given = [_adapted(argument) for argument in arguments]
        return Asking(text, [constant if at is None else given[at] for constant, at in text.values])


def answers(*asked: Asking | None) -> list[Rows]:
    """The rows of each, none where nothing is asked; from PostgreSQL in one round trip.

    Prepared statements are not used while queries are logged: nobody could read the text of one.
    """
    database = connections[DEFAULT_DB_ALIAS]
    statements = [(one.text.sql, one.values) for one in asked if one is not None]
    if database.vendor == "postgresql" and not database.queries_logged:
        found: Iterator[Rows] = iter(fetched_prepared(database, statements))
    else:
        found = (_fetched(database, *statement) for statement in statements)
    return [[] if one is None else _converted(database, next(found), one.text) for one in asked]


def _compile(build: Callable[..., models.QuerySet[Any, Any]], arguments: Sequence[Argument]) -> _Text:
    """Made twice, with other marks each time: what differs is an argument, and all else a constant.

    ValueError if the text itself depends on the arguments, as that of a slice does.
    """
    (compiler, sql, values), (_compiler, other_sql, others) = (
        _made(build, [_mark(argument, first + at) for at, argument in enumerate(arguments)])
        for first in _FIRST_MARKS
    )
    if sql != other_sql:
        raise ValueError(f"the text depends on the arguments: {sql}")
    places = {_adapted(_mark(argument, _FIRST_MARKS[0] + at)): at for at, argument in enumerate(arguments)}
    columns = [column for column, *_rest in compiler.select]
    converters = compiler.get_converters(columns)
    parameters: list[Parameter] = [
        (None, places[one]) if one != other else (one, None)
        for one, other in zip(values, others, strict=True)
    ]
    if connection.vendor == "postgresql":
        sql, parameters = with_constants(sql, parameters)
    return _Text(
        sql,
        tuple(parameters),
        tuple((at, tuple(found), column) for at, (found, column) in converters.items()),
    )


def _made(build: Callable[..., models.QuerySet[Any, Any]], marks: Sequence[Argument]) -> tuple[Any, str, Any]:
    compiler = build(*marks).query.get_compiler(connection=connection)
    return (compiler, *compiler.as_sql())


def _mark(argument: Argument, number: int) -> Argument:
    return _MOMENT + timedelta(days=number) if isinstance(argument, datetime) else number


def _adapted(argument: Argument) -> Any:
    """As the database takes it."""
    if isinstance(argument, datetime):
        return connection.ops.adapt_datetimefield_value(argument)
    return argument


def _fetched(database: Any, sql: str, values: Sequence[Any]) -> Rows:
    with database.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())


def _converted(database: Any, rows: Rows, text: _Text) -> Rows:
    return [_row(database, row, text) for row in rows] if text.converters else rows


def _row(database: Any, row: Sequence[Any], text: _Text) -> tuple[Any, ...]:
    values = list(row)
    for at, converters, column in text.converters:
        for convert in converters:
            values[at] = convert(values[at], column, database)
    return tuple(values)
