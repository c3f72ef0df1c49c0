"""Notices of jobs in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from alerts.labels import event_label
from alerts.message import Told
from alerts.models import Notice
from alerts.moments import moment_text
from jobs.states import State
from jobs.texts.states import event_text, state_label


def job_told(notice: Notice) -> Told:
    """What a notice of a job says, without the last lines of output."""
    data = notice.data
    title = pgettext("title of a notice", "%(event)s: %(name)s")
    return Told(
        title=title % {"event": event_label(notice.code), "name": data["name"]},
        text=_sentence(notice.code, data),
        facts=tuple(_facts(notice, data)),
        path=reverse("job", args=[data["key"]]),
        name=data["name"],
        id=data["key"],
    )


def _sentence(code: str, data: Mapping[str, Any]) -> str:
    if "event" in data:
        return event_text(code, data["event"])
    return _limit_text(code, data["minutes"])


def _limit_text(code: str, minutes: int) -> str:
    n = {"n": minutes}
    if code == "queued_too_long":
        text = ngettext(
            "It has been waiting for more than %(n)s minute.",
            "It has been waiting for more than %(n)s minutes.",
            minutes,
        )
    elif code == "deploying_too_long":
        text = ngettext(
            "It has been deploying for more than %(n)s minute.",
            "It has been deploying for more than %(n)s minutes.",
            minutes,
        )
    else:
        text = ngettext(
            "It has been running for more than %(n)s minute.",
            "It has been running for more than %(n)s minutes.",
            minutes,
        )
    return text % n


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
