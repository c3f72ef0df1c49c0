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


def pool_told(notice: Notice) -> Told:
    """What a notice of a pool says."""
    data = notice.data
    facts = [(_("Resource pool"), data["pool"])]
    if "nodes" in data:
        facts.append((_("Nodes"), nodes_text(data)))
    facts.append((_("Time"), moment_text(notice.at)))
    title = pgettext("title of a notice", "%(event)s: %(name)s")
    return Told(
        title=title % {"event": event_label(notice.code), "name": data["pool"]},
        text=_sentence(notice.code, data),
        facts=tuple(facts),
        path=reverse("pool", args=[notice.subject_id]),
        name=data["pool"],
        id=str(notice.subject_id),
    )


def nodes_text(data: Mapping[str, Any]) -> str:
    """The first of the names, and how many more there are."""
    names, more = ", ".join(data["nodes"]), data["count"] - len(data["nodes"])
    return _("%(names)s and %(n)s more") % {"names": names, "n": more} if more else names


def _sentence(code: str, data: Mapping[str, Any]) -> str:
    if code == "queue_stuck":
        return ngettext(
            "A job waits that could start, and nothing has started for more than %(n)s minute.",
            "A job waits that could start, and nothing has started for more than %(n)s minutes.",
            data["minutes"],
        ) % {"n": data["minutes"]}
    n = {"n": data["count"]}
    if code == "node_down":
        return ngettext("%(n)s node is down.", "%(n)s nodes are down.", data["count"]) % n
    if code == "node_drained":
        return ngettext("%(n)s node is being drained.", "%(n)s nodes are being drained.", data["count"]) % n
    until = formats.date_format(date.fromisoformat(data["until"]), "Y-m-d")
    return ngettext(
        "The prepaid period of %(n)s node ends on %(date)s.",
        "The prepaid period of %(n)s nodes ends on %(date)s.",
        data["count"],
    ) % {"n": data["count"], "date": until}
