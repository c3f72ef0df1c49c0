"""A custom robot in a group of Feishu or Lark."""

from __future__ import annotations

import hmac
from base64 import b64encode
from typing import Any

from django.utils import timezone

from alerts.message import Told
from alerts.senders.client import post
from alerts.senders.outcomes import Outcome
from alerts.senders.parcel import Parcel, as_json, fitted, log_text
from alerts.senders.robots import Dialect, judged, paragraphs

MOST_BYTES = 20_000  # of the whole request
DIALECT = Dialect(
    numbers=("code", "StatusCode"),
    words=("msg", "StatusMessage"),
    busy=frozenset({11232, 1500, 1503, 99991400}),
    meanings={
        19001: "receiver_address",
        19021: "receiver_secret",
        19022: "receiver_network",
        19024: "receiver_keyword",
    },
)


def send(parcel: Parcel) -> Outcome:
    timestamp = str(int(timezone.now().timestamp()))
    told = fitted(parcel.told, lambda t: len(_body(parcel, t, timestamp)), MOST_BYTES)
    return judged(post(parcel.target, _body(parcel, told, timestamp)), DIALECT)


def _body(parcel: Parcel, told: Told, timestamp: str) -> bytes:
    """A post, whose parts of text are literal; in a message of plain text `<at …>` would call people."""
    content: list[list[dict[str, Any]]] = [[_text(part)] for part in paragraphs(told)]
    content.append([_text("Trainyard: "), {"tag": "a", "text": parcel.link, "href": parcel.link}])
    if told.log:
        content.append([_text(log_text(told))])
    post = {"title": told.title, "content": content}
    document = {"msg_type": "post", "content": {"post": {"zh_cn": post}}}
    if parcel.secret:
        document |= {"timestamp": timestamp, "sign": signature(parcel.secret, timestamp)}
    return as_json(document)


def _text(text: str) -> dict[str, Any]:
    return {"tag": "text", "text": text, "un_escape": False}


def signature(secret: str, timestamp: str) -> str:
    """Feishu's: the text is the key, and what is signed is empty."""
    return b64encode(hmac.digest(f"{timestamp}\n{secret}".encode(), b"", "sha256")).decode()
