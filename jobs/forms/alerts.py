"""The alerts of a form: rows of events with the channel that is told of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from django.utils.datastructures import MultiValueDict
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from alerts.labels import event_label
from alerts.rules import JOB_EVENTS, LEAST_MINUTES, MOST_MINUTES, TIMED_JOB_EVENTS
from jobs.findings import Finding
from jobs.rules.limits import MOST_ALERTS
from jobs.spec import AlertAsked
from jobs.texts import finding_text
from teams.pages import plain_id

ASKED, EVENT = "alerts_asked", "alert_event"
COLUMNS = ("alert_channel", "alert_timed", "alert_minutes")
NAMES = (*COLUMNS, EVENT)
MOST_ROWS = 10 * MOST_ALERTS  # more are read no further; the rules refuse them long before
MOST_DIGITS = 9


@dataclass(slots=True)
class AlertRow:
    """As typed. `timed` is the event with a limit, `minutes` that limit; `at` is the index in the request."""

    channel: str
    timed: str
    minutes: str
    events: tuple[str, ...]
    at: int | None = None
    wrong: dict[str, str] = field(default_factory=dict)  # what is said at `events`, `minutes`, `channel`
    focus: bool = False

    @property
    def empty(self) -> bool:
        return not (self.channel or self.timed or self.events)

    @classmethod
    def of(cls, channel: str, said: str) -> AlertRow:
        """The row of a channel that says so."""
        parts = said.split(" ")
        timed, minutes, *events = parts if len(parts) > 1 else ("", "")
        return cls(channel, timed, minutes, tuple(events))

    @property
    def said(self) -> str:
        """All but the channel."""
        return " ".join((self.timed, self.minutes.replace(" ", ""), *self.events))

    @property
    def boxes(self) -> list[tuple[str, str, bool]]:
        """Code, label and whether it is ticked."""
        return [(code, event_label(code), code in self.events) for code in JOB_EVENTS]

    @property
    def limits(self) -> list[tuple[str, str, bool]]:
        return [(code, event_label(code), code == self.timed) for code in TIMED_JOB_EVENTS]

    @property
    def errors(self) -> list[str]:
        return list(self.wrong.values())

    @property
    def first_wrong(self) -> str:
        """The control that has the focus if the row has it."""
        return next((name for name in ("events", "minutes", "channel") if name in self.wrong), "channel")

    def refuse(self, path: str, text: str) -> None:
        """Takes an error of a field of the request to its control, where nothing worse is said yet."""
        name = path.rpartition(".")[2]
        self.wrong.setdefault(name if name in ("events", "minutes") else "channel", text)

    def asked(self) -> AlertAsked | None:
        """None where that is not clear, which is then among the errors."""
        channel, minutes = plain_id(self.channel), _minutes(self.minutes)
        events = (*self.events, self.timed) if self.timed else self.events
        if not events:
            self.refuse("events", _("Choose at least one event, or remove the rule."))
        if self.timed and not self.minutes:
            self.refuse("minutes", _("Say after how many minutes."))
        elif self.timed and minutes is None:
            said = {"least": LEAST_MINUTES, "most": MOST_MINUTES, "unit": "minutes"}
            self.refuse("minutes", finding_text("out_of_range", said))
        if channel is None:
            self.refuse("channel", _("Choose a channel, or remove the rule."))
        if self.wrong or channel is None:
            return None
        return AlertAsked(events, channel, minutes if self.timed else None)


class AlertRows:
    """All rows that were posted; none are `asked` for by a form that had no place for them."""

    def __init__(self, data: MultiValueDict[str, Any]) -> None:
        ticked: dict[int, list[str]] = {}
        for value in data.getlist(EVENT):
            row, _dot, code = str(value).partition(".")
            if row.isascii() and row.isdigit() and len(row) < MOST_DIGITS:
                ticked.setdefault(int(row), []).append(code)
        columns = list(zip_longest(*(data.getlist(name) for name in COLUMNS), fillvalue=""))[:MOST_ROWS]
        rows = (
            AlertRow(channel.strip(), timed, minutes.strip(), tuple(dict.fromkeys(ticked.get(number, ()))))
            for number, (channel, timed, minutes) in enumerate(columns)
        )
        self.rows = [row for row in rows if not row.empty]
        self.errors: list[str] = []
        self._asks = ASKED in data
        self._more = data.get("add_row") == "alert"

    @property
    def unclear(self) -> bool:
        return any(row.wrong for row in self.rows)

    def accept(self, findings: Iterable[Finding]) -> None:
        """Takes the errors for which alerts were refused, each to its row; those of all are `errors`."""
        by_place = {str(row.at): row for row in self.rows if row.at is not None}
        for finding in findings:
            text = finding_text(finding.code, finding.data)
            row = by_place.get(finding.field.split(".")[1]) if "." in finding.field else None
            if row:
                row.refuse(finding.field, text)
            else:
                self.errors.append(text)

    @property
    def shown(self) -> list[AlertRow]:
        """With an empty one where there is none yet, or one more was asked for."""
        return [*self.rows, AlertRow("", "", "", ())] if self._more or not self.rows else self.rows

    @cached_property
    def asked(self) -> tuple[AlertAsked, ...] | None:
        """None: what the person's new jobs begin with."""
        found: list[AlertAsked] = []
        for row in self.rows:
            if (alert := row.asked()) is not None:
                row.at = len(found)
                found.append(alert)
        return tuple(found) if self._asks else None


def alert_values(alerts: Iterable[AlertAsked]) -> dict[str, list[str]]:
    """Alerts as a browser would send them."""
    listed = list(alerts)
    timed = [next((e for e in one.events if e in TIMED_JOB_EVENTS), "") for one in listed]
    return {
        ASKED: ["1"],
        "alert_channel": [str(one.channel) for one in listed],
        "alert_timed": timed,
        "alert_minutes": ["" if one.minutes is None else str(one.minutes) for one in listed],
        EVENT: [
            f"{at}.{e}" for at, one in enumerate(listed) for e in one.events if e not in TIMED_JOB_EVENTS
        ],
    }


def row_values(rows: Sequence[AlertRow]) -> Mapping[str, list[str]]:
    """The same of rows as they were typed."""
    return {
        "alert_channel": [row.channel for row in rows],
        "alert_timed": [row.timed for row in rows],
        "alert_minutes": [row.minutes for row in rows],
        EVENT: [f"{at}.{code}" for at, row in enumerate(rows) for code in row.events],
    }


def _minutes(text: str) -> int | None:
    plain = text.isascii() and text.isdigit() and len(text) < MOST_DIGITS
    return int(text) if plain else None
