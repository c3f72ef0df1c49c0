"""The variables of the form: each in a row of its own, or those that all may see as one text.

What is posted is what counts: the variables of the text, then those of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from django.http import QueryDict
from django.utils.datastructures import MultiValueDict

from jobs.environment import parse_text, to_text
from jobs.findings import Finding
from jobs.forms.rows import Row
from jobs.rules import limits
from jobs.spec import EnvVar, unix_newlines

Data = QueryDict | MultiValueDict[str, Any]
TEXT, ROWS = "text", "rows"
COLUMNS = ("env_name", "env_value", "env_from")
PRIVATE = "env_private"  # holds the numbers of the private rows: a box that is not ticked sends nothing


@dataclass(slots=True)
class VariableRow(Row):
    """A variable as typed. `source` is the id of the job whose value is kept while no other is typed."""

    private: bool = False
    source: str = ""

    @property
    def variable(self) -> EnvVar:
        name, value = self.left.strip(), unix_newlines(self.right)
        if self.source and not value:
            return EnvVar(name, None, self.private, self.source)
        return EnvVar(name, value, self.private)


class Variables:
    """What was posted of the variables, and where in the request each of them stands."""

    def __init__(self, data: Data) -> None:
        self.as_text = "env_text" in data
        self.refused_rows = self.as_text and data.get("env_as") == ROWS
        blank = VariableRow("", "", private=self.as_text)
        self.rows = [*(row for row in _rows(data) if not row.empty), blank]
        self._in_text = 0

    def read(self, text: str) -> tuple[tuple[EnvVar, ...], list[Finding]]:
        """The variables of the request, and the pieces of the text that are none; ones beyond the limit are
        not even read."""
        variables: list[EnvVar] = []
        findings: list[Finding] = []
        if _too_long(text):
            limit = {"most": limits.MOST_ENV_BYTES, "unit": "bytes"}
            findings = [Finding("too_long", "env", data=limit)]
        else:
            variables, findings = parse_text(text)
        self._in_text = len(variables)
        for row in self.rows:
            if not row.empty:
                row.at = len(variables)
                variables.append(row.variable)
        return tuple(variables), findings[: limits.MOST_VARIABLES]

    def field_of(self, path: str) -> str:
        """`env_text` for what the text says, `env` for what is in rows."""
        at = path.split(".")[1] if "." in path else ""
        if at.isdecimal():
            return "env_text" if int(at) < self._in_text else "env"
        return "env_text" if self.as_text else "env"


def row_values(variables: Iterable[EnvVar]) -> dict[str, list[str]]:
    """Variables as a browser would send them from rows."""
    return _values(
        [
            VariableRow(v.name, v.value or "", None, private=v.private, source=v.from_job or "")
            for v in variables
        ]
    )


def switched(data: Data) -> Data:
    """The same variables as the form shows them when `env_as` asks for the other way.

    Private ones always stay rows, and so does what text cannot say; a text with a piece that is no variable
    stays a text. Nothing is lost by that, there and back.
    """
    asked, text = data.get("env_as"), data.get("env_text")
    if asked == TEXT and text is None:
        return _as_text(data)
    if asked == ROWS and text is not None:
        return _as_rows(data, text)
    return data


def without_private(data: Data) -> Data:
    """What was typed, less the rows of private variables."""
    return _with_rows(data, [row for row in _rows(data) if not row.private and not row.source])


def _as_text(data: Data) -> Data:
    rows = [row for row in _rows(data) if not row.empty]
    if _too_long("".join(row.left + row.right for row in rows)):
        return data
    said = [row for row in rows if _sayable(row)]
    new = _with_rows(data, [row for row in rows if not _sayable(row)])
    new.setlist("env_text", [to_text(row.variable for row in said)])
    return new


def _as_rows(data: Data, text: str) -> Data:
    if _too_long(text):
        return data
    variables, findings = parse_text(text)
    if findings or len(variables) > limits.MOST_VARIABLES:
        return data
    new = _with_rows(data, [*(VariableRow(v.name, v.value or "") for v in variables), *_rows(data)])
    del new["env_text"]
    return new


def _sayable(row: VariableRow) -> bool:
    if row.private or row.source:
        return False
    return parse_text(to_text([row.variable])) == ([row.variable], [])


def _rows(data: Data) -> list[VariableRow]:
    private = set(data.getlist(PRIVATE))
    columns = [data.getlist(name) for name in COLUMNS]
    return [
        VariableRow(name, value, private=str(number) in private, source=source.strip())
        for number, (name, value, source) in enumerate(zip_longest(*columns, fillvalue=""))
    ]


def _values(rows: Sequence[VariableRow]) -> dict[str, list[str]]:
    return {
        "env_name": [row.left for row in rows],
        "env_value": [row.right for row in rows],
        "env_from": [row.source for row in rows],
        PRIVATE: [str(number) for number, row in enumerate(rows) if row.private],
    }


def _with_rows(data: Data, rows: Sequence[VariableRow]) -> MultiValueDict[str, Any]:
    kept: Mapping[str, list[Any]] = {name: values for name, values in data.lists() if name != PRIVATE}
    return MultiValueDict({**kept, **_values(rows)})


def _too_long(text: str) -> bool:
    return len(text.encode()) > limits.MOST_ENV_BYTES
