"""Queries whose SQL is made once: where a page asks the same again and again, building the text each time
takes longer than the database takes to answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection, models

Argument = int | datetime
_FIRST_MARK = 2**40  # stands for a number while the text is made; no constant of a query is as large
_LAST_MOMENT = datetime(9999, 12, 31, tzinfo=UTC)  # and this, or a little before, for a moment


class _Text(NamedTuple):
    """`values` are the parameters in order: a constant, or the number of the argument that goes there."""

    sql: str
    values: tuple[tuple[Any, int | None], ...]
    converters: tuple[tuple[int, tuple[Callable[..., Any], ...], Any], ...]


class Compiled:
    """Of a function from numbers and moments to a `values_list` queryset: the rows for such arguments.

    What the function does with its arguments must not depend on their values. There is one text for each
    kind of database and each sequence of kinds of arguments.
    """

    def __init__(self, build: Callable[..., models.QuerySet[Any, Any]]) -> None:
        self._build = build
        self._texts: dict[tuple[Any, ...], _Text] = {}

    def rows(self, *arguments: Argument) -> Sequence[tuple[Any, ...]]:
        """In one query."""
        key = (connection.vendor, *map(type, arguments))
        text = self._texts.get(key)
        if text is None:
            text = self._texts[key] = _compile(self._build, arguments)
        given = [_adapted(argument) for argument in arguments]
        values = [constant if at is None else given[at] for constant, at in text.values]
        with connection.cursor() as cursor:
            cursor.execute(text.sql, values)
            found = cursor.fetchall()
        return [_converted(row, text) for row in found] if text.converters else found


def _compile(build: Callable[..., models.QuerySet[Any, Any]], arguments: Sequence[Argument]) -> _Text:
    marks = [
        _LAST_MOMENT - timedelta(days=at) if isinstance(argument, datetime) else _FIRST_MARK + at
        for at, argument in enumerate(arguments)
    ]
    compiler = build(*marks).query.get_compiler(connection=connection)
    sql, values = compiler.as_sql()
    places = {_adapted(mark): at for at, mark in enumerate(marks)}
    columns = [column for column, *_rest in compiler.select]
    converters = compiler.get_converters(columns)
    return _Text(
        sql,
        tuple((value, places.get(value)) for value in values),
        tuple((at, tuple(found), column) for at, (found, column) in converters.items()),
    )


def _adapted(argument: Argument) -> Any:
    """As the database takes it."""
    if isinstance(argument, datetime):
        return connection.ops.adapt_datetimefield_value(argument)
    return argument


def _converted(row: Sequence[Any], text: _Text) -> tuple[Any, ...]:
    values = list(row)
    for at, converters, column in text.converters:
        for convert in converters:
            values[at] = convert(values[at], column, connection)
    return tuple(values)
