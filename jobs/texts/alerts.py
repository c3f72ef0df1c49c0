"""Who is told of what, in a few words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext

from alerts.labels import event_label
from alerts.rules import TIMED_JOB_EVENTS

LIMITS = {
    "queued_too_long": gettext_lazy("Waits longer than %(n)s min"),
    "deploying_too_long": gettext_lazy("Deploys longer than %(n)s min"),
    "running_too_long": gettext_lazy("Runs longer than %(n)s min"),
}


def alert_text(events: Sequence[str], minutes: int | None, channel: str) -> str:
    """What is told, and where; `channel` is its name."""
    named = (
        str(LIMITS[code]) % {"n": minutes} if code in TIMED_JOB_EVENTS and minutes else event_label(code)
        for code in events
    )
    return f"{pgettext('between entries', ', ').join(named)} → {channel}"


def alerts_text(alerts: Iterable[Mapping[str, Any]], channels: Mapping[int, str]) -> str:
    """All that is told, where `channels` names those that the reader may see."""
    told = (
        alert_text(one["events"], one["minutes"], channels.get(one["channel"]) or hidden_text())
        for one in alerts
    )
    return " · ".join(told) or _("nobody is told")


def hidden_text() -> str:
    """What a channel is called whose name is not the reader's business."""
    return _("a private channel of somebody else")


def left_out_text(n: int) -> str:
    """Why a new job has fewer alerts than the one that it was made from."""
    return ngettext(
        "An alert of the job goes to a channel that you may not use for it: it is left out.",
        "%(n)s alerts of the job go to channels that you may not use for it: they are left out.",
        n,
    ) % {"n": n}
