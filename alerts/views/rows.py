"""Deliveries as pages list them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from alerts.labels import event_label
from alerts.models import Delivery
from alerts.rules import State
from alerts.subjects import told
from alerts.texts import error_text


@dataclass(frozen=True, slots=True)
class Row:
    """`title` and `path` of the notice; `error` why the last try came to nothing."""

    delivery: Delivery
    events: str
    title: str
    path: str
    error: str
    hidden: bool

    @property
    def waiting(self) -> bool:
        return self.delivery.state == State.WAITING


def delivery_rows(deliveries: Iterable[Delivery]) -> list[Row]:
    """In the language that is active. Of a channel that is none of the reader's only the kind is told."""
    return [_row(delivery) for delivery in deliveries]


def _row(delivery: Delivery) -> Row:
    hidden = getattr(delivery, "hidden", False)
    minutes = delivery.notice.data.get("minutes")
    error = None if hidden else delivery.error
    said = told(delivery.notice)
    return Row(
        delivery=delivery,
        events=" · ".join(event_label(code, minutes) for code in delivery.notice.codes),
        title=said.title,
        path=said.path,
        error=error_text(error["code"], error["data"]) if error else "",
        hidden=hidden,
    )
