"""What the chat services have in common: an error comes as a number in JSON, often inside a 200 answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from alerts.message import Told
from alerts.senders.client import Answer, by_status
from alerts.senders.outcomes import Later, Outcome, Refused, Sent
from alerts.senders.parcel import Parcel, blocks, facts_text

MOST_SAID = 200  # characters of a receiver's own words that are kept


@dataclass(frozen=True, slots=True)
class Dialect:
    """Where an answer has its number (0: all is well) and its words, and what the numbers mean.

    `meanings` leads to codes of ours; any other number is an error that the receiver's words explain.
    """

    numbers: tuple[str, ...]
    words: tuple[str, ...]
    busy: frozenset[int]
    meanings: Mapping[int, str] = field(default_factory=dict)


def judged(answer: Answer | Refused | Later, dialect: Dialect) -> Outcome:
    if not isinstance(answer, Answer):
        return answer
    plain = by_status(answer)
    said = _said(answer.body)
    number = _first(said, dialect.numbers, int)
    if isinstance(plain, Later):
        return plain
    if number:
        words = " ".join(str(_first(said, dialect.words, str) or "").split())
        return _error(number, words[:MOST_SAID], dialect, answer)
    if number is None and isinstance(plain, Sent):
        return answer.broken or Refused("answer_unknown")
    return plain


def _error(number: int, words: str, dialect: Dialect, answer: Answer) -> Outcome:
    data: dict[str, Any] = {"number": number, "message": words}
    if number in dialect.busy:
        return Later("receiver_busy", data | ({} if answer.after is None else {"after": answer.after}))
    return Refused(dialect.meanings.get(number, "receiver_error"), data)


def _said(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _first(said: Mapping[str, Any], names: Iterable[str], kind: type) -> Any:
    return next((said[name] for name in names if type(said.get(name)) is kind), None)


def paragraphs(told: Told) -> list[str]:
    return [part for part in (told.text, facts_text(told)) if part]


def plain_text(parcel: Parcel, told: Told) -> str:
    """For services that take one text. A robot that wants a keyword in each message finds “Trainyard”."""
    return "\n\n".join(blocks(told, link_line(parcel)))


def link_line(parcel: Parcel) -> str:
    return f"Trainyard: {parcel.link}"
