"""Sentences about what deserves attention, in the reader's language."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime

from django.utils import formats
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs.findings import Reason
from jobs.texts import HANG_LABELS, duration_text, gpus_text, reason_text, step_label
from pools.models import NodeState

TITLES: dict[str, Promise] = {
    "failed": gettext_lazy("Failed in the last 7 days"),
    "hanging": gettext_lazy("Hanging, or suspected to hang"),
    "waiting": gettext_lazy("Waiting for more than 30 minutes"),
    "deploying": gettext_lazy("Deploying for more than 10 minutes"),
    "paused": gettext_lazy("Paused resource pools"),
    "out_of_service": gettext_lazy("Nodes out of service"),
    "channels": gettext_lazy("Your alert channels that do not deliver"),
    "ending": gettext_lazy("Prepaid periods over or ending within 30 days"),
}
OUT_OF_SERVICE: dict[str, Callable[[int], str]] = {
    NodeState.CORDONED: lambda n: ngettext("%(n)s node cordoned", "%(n)s nodes cordoned", n) % {"n": n},
    NodeState.DRAINED: lambda n: ngettext("%(n)s node drained", "%(n)s nodes drained", n) % {"n": n},
    NodeState.DOWN: lambda n: ngettext("%(n)s node down", "%(n)s nodes down", n) % {"n": n},
}


def why_text(reason: Reason | None) -> str:
    """Why a job waits; None: for the next cycle of the queue, which starts it."""
    return reason_text(reason.code, reason.data) if reason else _("Starts in a moment.")


def hanging_text(state: str, since: datetime, now: datetime) -> str:
    values = {"state": HANG_LABELS[state], "span": _span(since, now)}
    return capfirst(_("%(state)s: no output for %(span)s.") % values)


def waiting_text(since: datetime, now: datetime, reason: Reason | None) -> str:
    values = {"span": _span(since, now), "why": why_text(reason)}
    return _("Waiting for %(span)s. %(why)s") % values


def deploying_text(since: datetime, now: datetime, step: str) -> str:
    values = {"span": _span(since, now), "step": step_label(step)}
    return _("Deploying for %(span)s; step: %(step)s.") % values


def paused_text() -> str:
    return _("Running jobs go on; none starts.")


def channel_text(disabled_at: datetime | None) -> str:
    return _("Disabled: nothing is sent to it.") if disabled_at else _("Its last notice did not arrive.")


def out_of_service_text(state: str, nodes: int, gpus: int, first: str) -> str:
    values = {"nodes": OUT_OF_SERVICE[state](nodes), "gpus": gpus_text(gpus), "name": first}
    if nodes == 1:
        return _("%(nodes)s (%(gpus)s): %(name)s.") % values
    return _("%(nodes)s (%(gpus)s): %(name)s and others.") % values


def ending_text(nodes: int, until: date, today: date) -> str:
    days = (until - today).days
    values = {"n": nodes, "date": formats.date_format(until, "Y-m-d")}
    if days < 0:
        return ngettext("%(n)s node, ended on %(date)s.", "%(n)s nodes, ended on %(date)s.", nodes) % values
    said = ngettext("%(n)s node until %(date)s", "%(n)s nodes until %(date)s", nodes) % values
    left = ngettext("%(n)s day left", "%(n)s days left", days) % {"n": days} if days else _("ends today")
    return _("%(nodes)s: %(left)s.") % {"nodes": said, "left": left}


def _span(since: datetime, now: datetime) -> str:
    return duration_text(int((now - since).total_seconds()))
