"""A channel of Microsoft Teams, by the webhook of a workflow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext

from alerts.message import Told
from alerts.senders.client import Answer, by_status, post
from alerts.senders.outcomes import Outcome
from alerts.senders.parcel import Parcel, as_json, fitted

MOST_BYTES = 28_000  # of the whole request


def send(parcel: Parcel) -> Outcome:
    """The workflow answers before the card is in the channel; whether it got there, nobody tells."""
    told = fitted(parcel.told, lambda t: len(_body(parcel, t)), MOST_BYTES)
    answer = post(parcel.target, _body(parcel, told))
    return by_status(answer) if isinstance(answer, Answer) else answer


def _body(parcel: Parcel, told: Told) -> bytes:
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "msteams": {"width": "Full"},
        "body": _lines(told),
        "actions": [{"type": "Action.OpenUrl", "title": gettext("Open"), "url": parcel.link}],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return as_json({"type": "message", "attachments": [attachment]})


def _lines(told: Told) -> list[dict[str, Any]]:
    """Runs of text, which are shown as they are; in other elements Teams reads Markdown."""
    lines = [_line([_run(told.title, weight="Bolder", size="Large")])]
    lines += [_line([_run(text)]) for text in told.text.split("\n") if text]
    for label, value in told.facts:
        lines.append(_line([_run(f"{label}: ", weight="Bolder"), _run(value)], spacing="Small"))
    if told.log:
        lines.append(_line([_run(gettext("Last lines of output:"), weight="Bolder")]))
    lines += [_line([_run(text or " ", fontType="Monospace")], spacing="None") for text in told.log]
    return lines


def _line(runs: Sequence[dict[str, Any]], **style: str) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": list(runs), **style}


def _run(text: str, **style: str) -> dict[str, Any]:
    return {"type": "TextRun", "text": text, **style}
