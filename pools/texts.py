"""Notices of pools in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from django.urls import reverse
from django.utils import formats
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from alerts.labels import event_label
from alerts.message import Told
from alerts.models import Notice
from alerts.moments import moment_text

MOST_NAMED = 3  # in the line behind the bell; the facts name more


def pool_told(notice: Notice) -> Told:
    """What a notice of a pool says."""
    data = notice.data
    facts = [(_("Resource pool"), data["pool"])]
    if "nodes" in data:
        facts.append((_("Nodes"), nodes_text(data)))
    facts.append((_("Time"), moment_text(notice.at)))
    title = pgettext("title of a notice", "%(event)s: %(name)s")
    return Told(
        title=title % {"event": event_label(notice.code, data.get("minutes")), "name": data["pool"]},
        text=_sentence(notice.code, data),
        facts=tuple(facts),
        path=reverse("pool", args=[notice.subject_id]),
        name=data["pool"],
        id=str(notice.subject_id),
    )


def nodes_text(data: Mapping[str, Any], most: int | None = None) -> str:
    """The first of the names, at most so many, and how many more there are."""
    shown = data["nodes"][:most]
    names, more = ", ".join(shown), data["count"] - len(shown)
    return _("%(names)s and %(n)s more") % {"names": names, "n": more} if more else names


def _sentence(code: str, data: Mapping[str, Any]) -> str:
    if code == "queue_stuck":
        return _("A job waits that could start, and nothing starts.")
    names = nodes_text(data, MOST_NAMED)
    if code in ("node_down", "node_drained"):
        return names
    until = formats.date_format(date.fromisoformat(data["until"]), "Y-m-d")
    return ngettext(
        "The prepaid period of %(n)s node ends on %(date)s: %(names)s.",
        "The prepaid period of %(n)s nodes ends on %(date)s: %(names)s.",
        data["count"],
    ) % {"n": data["count"], "date": until, "names": names}
