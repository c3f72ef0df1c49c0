"""How notices of channels are told: a test, and that one is disabled, or not theirs any more."""

from __future__ import annotations

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from alerts.labels import event_label
from alerts.message import Told
from alerts.models import Notice
from alerts.moments import moment_text
from alerts.rules import CHANNEL_GONE, CHANNEL_UNSHARED, TEST, Subject
from alerts.subjects import telling_set
from alerts.texts import error_text

LOST = (CHANNEL_UNSHARED, CHANNEL_GONE)  # the reader may not see the channel any more


def channel_telling(notice: Notice, log: bool) -> Told:
    data = notice.data
    title = pgettext("title of a notice", "%(event)s: %(name)s")
    facts = [(_("Channel"), data["name"])]
    if notice.code == TEST:
        text = _("This channel works: notices arrive here as this one did.")
        facts.append((pgettext("who did it", "By"), data["actor"]))
    elif notice.code in LOST:
        text = _ended(data["rules"])
    else:
        text = _("The receiver refused several notices, one after the other; nothing is sent to it any more.")
        if "unsent" in data:
            facts.append((_("Not sent"), _notices(data["unsent"])))
        facts.append((_("Reason"), error_text(data["error"]["code"], data["error"]["data"])))
    return Told(
        title=title % {"event": event_label(notice.code), "name": data["name"]},
        text=text,
        facts=(*facts, (_("Time"), moment_text(notice.at))),
        path=reverse("rules") if notice.code in LOST else reverse("channel", args=[notice.subject_id]),
        name=data["name"],
        id=str(notice.subject_id),
    )


def _ended(n: int) -> str:
    return ngettext("%(n)s rule of yours ended with it.", "%(n)s rules of yours ended with it.", n) % {"n": n}


def _notices(n: int) -> str:
    return ngettext("%(n)s notice", "%(n)s notices", n) % {"n": n}


telling_set(Subject.CHANNEL, channel_telling)
