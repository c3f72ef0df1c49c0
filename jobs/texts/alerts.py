"""Who is told of what, in a few words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from alerts.labels import event_label


def alert_text(events: Sequence[str], minutes: int | None, channel: str) -> str:
    """What is told, and where; `channel` is its name."""
    named = (event_label(code, minutes) for code in events)
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
