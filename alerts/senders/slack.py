"""An incoming webhook of Slack, or of what speaks like it."""

from __future__ import annotations

from typing import Any

from alerts.message import Told
from alerts.senders.client import Answer, by_status, post
from alerts.senders.outcomes import Outcome, Refused, Sent
from alerts.senders.parcel import Parcel, as_json, fitted, log_text
from alerts.senders.robots import paragraphs

MOST_BYTES = 30_000
MOST_OF_HEADER, MOST_OF_BLOCK = 150, 3000  # characters


def send(parcel: Parcel) -> Outcome:
    told = fitted(parcel.told, lambda t: len(_body(parcel, t)), MOST_BYTES)
    answer = post(parcel.target, _body(parcel, told))
    if not isinstance(answer, Answer):
        return answer
    outcome = by_status(answer)
    if not isinstance(outcome, Sent) or answer.body.strip() == b"ok":
        return outcome
    return answer.broken or Refused("answer_unknown")


def _body(parcel: Parcel, told: Told) -> bytes:
    """`text` is what a notification shows; only there and in the link are signs read as markup."""
    header = "header" if len(told.title) <= MOST_OF_HEADER else "section"
    blocks = [_block(header, told.title)]
    blocks += [_block("section", piece) for part in paragraphs(told) for piece in _pieces(part)]
    link = {"type": "mrkdwn", "text": f"<{_escaped(parcel.link).replace('|', '%7C')}|Trainyard>"}
    blocks.append({"type": "section", "text": link})
    blocks += [_block("section", piece) for piece in _pieces(log_text(told))]
    quiet = {"mrkdwn": False, "link_names": False, "unfurl_links": False, "unfurl_media": False}
    return as_json({"text": _escaped(told.title), "blocks": blocks, **quiet})


def _block(kind: str, text: str) -> dict[str, Any]:
    return {"type": kind, "text": {"type": "plain_text", "text": text, "emoji": False}}


def _pieces(text: str) -> list[str]:
    return [text[at : at + MOST_OF_BLOCK] for at in range(0, len(text), MOST_OF_BLOCK)]


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
