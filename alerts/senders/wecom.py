"""A robot in a group of WeCom."""

from __future__ import annotations

from alerts.message import Told
from alerts.senders.client import post
from alerts.senders.outcomes import Outcome
from alerts.senders.parcel import Parcel, as_json, fitted
from alerts.senders.robots import Dialect, judged, plain_text

MOST_BYTES = 2048  # of the text, in UTF-8
DIALECT = Dialect(
    numbers=("errcode",),
    words=("errmsg",),
    busy=frozenset({-1, 45009, 45033}),
    meanings={93000: "receiver_address"},
)


def send(parcel: Parcel) -> Outcome:
    told = fitted(parcel.told, lambda t: len(_content(parcel, t).encode()), MOST_BYTES)
    body = as_json({"msgtype": "text", "text": {"content": _content(parcel, told)}})
    return judged(post(parcel.target, body), DIALECT)


def _content(parcel: Parcel, told: Told) -> str:
    """WeCom knows `<@somebody>` also in plain text; a sign without width in between keeps it from that."""
    return plain_text(parcel, told).replace("<@", "<\u200b@")
