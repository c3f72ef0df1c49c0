"""Queries whose SQL is made once: where a page asks the same again and again, building the text each time
takes longer than the database takes to answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection, models

Argument = int | datetime
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
    """Made twice, with other marks each time: what differs is an argument, and all else a constant."""
    (compiler, sql, values), (_compiler, _sql, others) = (
        _made(build, [_mark(argument, first + at) for at, argument in enumerate(arguments)])
        for first in _FIRST_MARKS
    )
    places = {_adapted(_mark(argument, _FIRST_MARKS[0] + at)): at for at, argument in enumerate(arguments)}
    columns = [column for column, *_rest in compiler.select]
    converters = compiler.get_converters(columns)
    return _Text(
        sql,
        tuple(
            (None, places[one]) if one != other else (one, None)
            for one, other in zip(values, others, strict=True)
        ),
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


def _converted(row: Sequence[Any], text: _Text) -> tuple[Any, ...]:
    values = list(row)
    for at, converters, column in text.converters:
        for convert in converters:
            values[at] = convert(values[at], column, connection)
    return tuple(values)
