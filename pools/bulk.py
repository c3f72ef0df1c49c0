"""Many rows in one statement: about twice as fast as the ORM's bulk calls where thousands start at once.

Columns are given by field name, each a list with one value a row, or `Same(value)` for all rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections, models


@dataclass(frozen=True, slots=True)
class Same:
    """One value for all rows, sent once."""

    value: Any


Columns = Mapping[str, list[Any] | Same]


def bulk_insert(
    model: type[models.Model], columns: Columns, returning: Sequence[str] = ()
) -> list[tuple[Any, ...]]:
    """Inserts the rows; answers the named attributes of each new row, in no order to rely on."""
    if not _height(columns):
        return []
    fields = [_field(model, name) for name in columns]
    source, params = _rows(fields, columns)
    names = ", ".join(_quoted(field.column) for field in fields)
    sql = f"INSERT INTO {_quoted(model._meta.db_table)} ({names}) SELECT * FROM ({source}) AS new"  # noqa: S608
    if connection.vendor == "sqlite":
        sql += " WHERE true"  # keeps a following clause from being read as part of a join
    if returning:
        sql += " RETURNING " + ", ".join(_quoted(_field(model, name).column) for name in returning)
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchall() if returning else []


def bulk_update(model: type[models.Model], columns: Columns, key: str = "id") -> None:
    """Sets the other columns of the rows whose `key` is given."""
    if not _height(columns):
        return
    fields = [_field(model, name) for name in columns]
    source, params = _rows(fields, columns)
    table, key_column = _quoted(model._meta.db_table), _quoted(_field(model, key).column)
    sets = ", ".join(
        f"{_quoted(field.column)} = new.{_quoted(field.column)}"
        for name, field in zip(columns, fields, strict=True)
        if name != key
    )
    sql = f"UPDATE {table} SET {sets} FROM ({source}) AS new WHERE {table}.{key_column} = new.{key_column}"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(sql, params)


def _height(columns: Columns) -> int:
    """The number of rows; ValueError if two lists differ in length."""
    heights = {len(value) for value in columns.values() if not isinstance(value, Same)}
    if len(heights) > 1:
        raise ValueError(f"columns of different height: {sorted(heights)}")
    return heights.pop() if heights else 1


def _rows(fields: Sequence[Any], columns: Columns) -> tuple[str, list[Any]]:
    """A SELECT that gives the rows, its columns named as in the table, and its parameters."""
    make = _rows_by_unnest if connection.vendor == "postgresql" else _rows_by_json
    return make(fields, list(columns.values()))


def _rows_by_unnest(fields: Sequence[Any], values: Sequence[Any]) -> tuple[str, list[Any]]:
    selected, arrays, names = [], [], []
    singles: list[Any] = []
    columns: list[Any] = []
    for field, value in zip(fields, values, strict=True):
        kind, column = _column_type(field), _quoted(field.column)
        if isinstance(value, Same):
            selected.append(f"%s::{kind} AS {column}")
            singles += _prepared(field, [value.value])
        else:
            selected.append(f"u.{column}")
            arrays.append(f"%s::{kind}[]")
            names.append(column)
            columns.append(_prepared(field, value))
    source = f" FROM unnest({', '.join(arrays)}) AS u({', '.join(names)})" if arrays else ""
    return f"SELECT {', '.join(selected)}{source}", singles + columns


def _column_type(field: Any) -> str:
    kind: str = field.rel_db_type(connection) if field.is_relation else field.db_type(connection)
    return kind


def _rows_by_json(fields: Sequence[Any], values: Sequence[Any]) -> tuple[str, list[Any]]:
    selected: list[str] = []
    lists: list[list[Any]] = []
    params: list[Any] = []
    for field, value in zip(fields, values, strict=True):
        column = _quoted(field.column)
        if isinstance(value, Same):
            selected.append(f"%s AS {column}")
            params += _prepared(field, [value.value])
        else:
            selected.append(f"json_extract(r.value, '$[{len(lists)}]') AS {column}")
            lists.append(_prepared(field, value))
    if not lists:
        return f"SELECT {', '.join(selected)}", params
    rows = json.dumps(list(zip(*lists, strict=True)), default=str)
    return f"SELECT {', '.join(selected)} FROM json_each(%s) AS r", [*params, rows]  # noqa: S608


def _prepared(field: Any, values: list[Any]) -> list[Any]:
    """As the database driver takes them. PostgreSQL's takes all but JSON as they are, which saves
    Django's conversion of each value."""
    if connection.vendor == "postgresql" and not isinstance(field, models.JSONField):
        return values
    prepare = partial(field.get_db_prep_save, connection=connections[DEFAULT_DB_ALIAS])
    return [prepare(value) for value in values]


def _field(model: type[models.Model], name: str) -> Any:
    return model._meta.get_field(name)


def _quoted(name: str) -> str:
    return connection.ops.quote_name(name)


class AnyOf(models.Lookup):
    """Membership with the whole list as one parameter; made by `among`."""

    lookup_name = "any"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        column, params = self.process_lhs(compiler, connection)
        ids = list(self.rhs)
        if connection.vendor == "postgresql":
            return f"{column} = ANY(%s)", [*params, ids]
        return f"{column} IN (SELECT value FROM json_each(%s))", [*params, json.dumps(ids)]  # noqa: S608


models.BigAutoField.register_lookup(AnyOf)


def among(ids: Iterable[int]) -> models.Q:
    """The rows with these primary keys, however many; a set, for Django looks at each item of a list."""
    return models.Q(pk__any=frozenset(ids))
