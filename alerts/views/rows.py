"""Deliveries as pages list them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from alerts.labels import event_label
from alerts.models import Delivery
from alerts.repeating import repeatable
from alerts.rules import CHANNEL_DISABLED, State
from alerts.subjects import told
from alerts.texts import error_text


@dataclass(frozen=True, slots=True)
class Row:
    """`title` and `path` of the notice; `error` why the last try came to nothing; `again`: it may be
    repeated."""

    delivery: Delivery
    events: str
    title: str
    path: str
    error: str
    hidden: bool
    again: bool

    @property
    def waiting(self) -> bool:
        return self.delivery.state == State.WAITING

    @property
    def sending(self) -> bool:
        """Whether somebody has it to send just now."""
        channel = self.delivery.channel
        return self.waiting and channel is not None and channel.busy_until == self.delivery.due_at

    @property
    def next_try(self) -> datetime | None:
        """When it is tried again, once it was tried."""
        return self.delivery.due_at if self.waiting and self.delivery.tries and not self.sending else None

    @property
    def shown(self) -> tuple[Any, ...]:
        """What makes it look as it does."""
        one = self.delivery
        return one.pk, one.state, one.tries, self.next_try, self.sending, self.error, self.again


def delivery_rows(deliveries: Iterable[Delivery], *, may_repeat: bool = False) -> list[Row]:
    """In the language that is active. Of a channel that is none of the reader's only the kind is told."""
    now = timezone.now()
    return [_row(one, again=may_repeat and repeatable(one, now)) for one in deliveries]


def _row(delivery: Delivery, *, again: bool) -> Row:
    hidden = getattr(delivery, "hidden", False)
    minutes = delivery.notice.data.get("minutes")
    error = None if hidden else delivery.error
    said = told(delivery.notice)
    return Row(
        delivery=delivery,
        events=" · ".join(event_label(code, minutes) for code in delivery.notice.codes),
        title=said.title,
        path=said.path,
        error=_error(delivery, error) if error else "",
        hidden=hidden,
        again=again,
    )


def _error(delivery: Delivery, error: dict[str, Any]) -> str:
    channel = delivery.channel
    enabled = channel is not None and channel.disabled_at is None
    code = error["code"]
    return error_text("channel_was_disabled" if code == CHANNEL_DISABLED and enabled else code, error["data"])
