"""A custom robot in a group of DingTalk."""

from __future__ import annotations

import hmac
from base64 import b64encode
from dataclasses import replace
from urllib.parse import urlencode

from django.utils import timezone

from alerts.message import Told
from alerts.senders.client import post
from alerts.senders.outcomes import Outcome, Refused
from alerts.senders.parcel import Parcel, as_json, fitted
from alerts.senders.robots import Dialect, judged, plain_text

MOST_BYTES = 20_000  # of the whole request
DIALECT = Dialect(
    numbers=("errcode",),
    words=("errmsg",),
    busy=frozenset({-1, 90018, 90030, 130101, 410100}),
    meanings={
        300001: "receiver_address",
        300005: "receiver_address",
        400013: "receiver_address",
        400101: "receiver_address",
        400102: "receiver_address",
        310000: "receiver_secret",
    },
)
# One number for all means of protection; only its words say which of them it was.
_PROTECTED = 310000
_BY_WORDS = (
    ("keyword", "receiver_keyword"),
    ("关键词", "receiver_keyword"),
    ("whitelist", "receiver_network"),
)


def send(parcel: Parcel) -> Outcome:
    told = fitted(parcel.told, lambda t: len(_body(parcel, t)), MOST_BYTES)
    outcome = judged(post(_signed(parcel), _body(parcel, told)), DIALECT)
    if isinstance(outcome, Refused) and outcome.data.get("number") == _PROTECTED:
        said = str(outcome.data["message"]).lower()
        code = next((code for word, code in _BY_WORDS if word in said), outcome.code)
        return replace(outcome, code=code)
    return outcome


def _body(parcel: Parcel, told: Told) -> bytes:
    """Plain text; it calls nobody, whatever stands in it."""
    return as_json(
        {
            "msgtype": "text",
            "text": {"content": plain_text(parcel, told)},
            "at": {"atMobiles": [], "atUserIds": [], "isAtAll": False},
        }
    )


def _signed(parcel: Parcel) -> str:
    if not parcel.secret:
        return parcel.target
    timestamp = str(int(timezone.now().timestamp() * 1000))
    query = urlencode({"timestamp": timestamp, "sign": signature(parcel.secret, timestamp)})
    return parcel.target + ("&" if "?" in parcel.target else "?") + query


def signature(secret: str, timestamp: str) -> str:
    """DingTalk's, of a time in milliseconds."""
    signed = f"{timestamp}\n{secret}".encode()
    return b64encode(hmac.digest(secret.encode(), signed, "sha256")).decode()
