"""Notices of jobs in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from alerts.labels import event_label
from alerts.message import Told
from alerts.models import Notice
from alerts.moments import moment_text
from jobs.states import TERMINAL, State
from jobs.texts.filling import filled
from jobs.texts.reasons import reason_text
from jobs.texts.states import end_text, event_sentence, event_text, state_label


def job_told(notice: Notice) -> Told:
    """What a notice of a job says, without the last lines of output."""
    data = notice.data
    title = pgettext("title of a notice", "%(event)s: %(name)s")
    return Told(
        title=title % {"event": event_label(notice.code, data.get("minutes")), "name": data["name"]},
        text=_sentence(notice.code, data),
        facts=tuple(_facts(notice, data)),
        path=reverse("job", args=[data["key"]]),
        name=data["name"],
        id=data["key"],
    )


SAID = {
    "hang_suspected": gettext_lazy("No output for %(seconds)s s; the job goes on."),
    "hang": gettext_lazy("No output for %(seconds)s s; %(does)s."),
    "hang_idle": gettext_lazy("No output for %(seconds)s s, and idle for %(idle)s s; %(does)s."),
    "env_check_failed": gettext_lazy("On node %(node)s (Worker %(rank)s), at %(item)s: %(what)s"),
}


def _sentence(code: str, data: Mapping[str, Any]) -> str:
    """What the title does not say already: empty where that is all."""
    event = data.get("event")
    if event is None:
        return _waiting_text(data) if code == "queued_too_long" else ""
    if code in TERMINAL:
        return end_text(event)
    sentence, told = event_sentence(code, event)
    return filled(SAID, sentence, told) if sentence in SAID else capfirst(event_text(code, event))


def _waiting_text(data: Mapping[str, Any]) -> str:
    """Place and reason, as they were when the limit had passed."""
    if "place" not in data:
        return ""
    place = _("Place %(n)s in the queue.") % {"n": data["place"]}
    reason = data["reason"]
    return f"{place} {reason_text(reason['code'], reason['data'])}" if reason else place


def _facts(notice: Notice, data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield _("Job name"), data["name"]
    yield _("State"), _state(notice.code, data)
    if data.get("exit_code") is not None:
        yield _("Exit code"), str(data["exit_code"])
    if (failure := data.get("first_failure")) is not None:
        yield _("First failed Worker"), f"{data['key']}-worker-{failure['rank']}"
    yield _("Resource pool"), data["pool"]
    yield _("Team"), data["team"]
    if data["attempt"]:
        yield pgettext("of a job", "Run"), pgettext("of a job", "No. %(n)s") % {"n": data["attempt"]}
    if actor := data.get("actor"):
        yield pgettext("who did it", "By"), actor
    yield _("Time"), moment_text(notice.at)


def _state(code: str, data: Mapping[str, Any]) -> str:
    """As it became with the event; where that changed no state, as it was when the notice was written."""
    return state_label(code if code in set(State) else data["state"])
