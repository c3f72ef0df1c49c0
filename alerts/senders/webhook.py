"""A webhook of the receiver's own: a documented body, and a signature that says who sent it."""

from __future__ import annotations

import hmac
from typing import Any

from django.utils import timezone

from alerts.senders.client import Answer, by_status, post
from alerts.senders.outcomes import Outcome
from alerts.senders.parcel import Parcel, as_json, fitted

VERSION = 1
MOST_BYTES = 64 * 1024


def send(parcel: Parcel) -> Outcome:
    told = fitted(parcel.told, lambda t: len(as_json(document(parcel, t))), MOST_BYTES)
    body = as_json(document(parcel, told))
    timestamp = str(int(timezone.now().timestamp()))
    headers = {"X-Trainyard-Delivery": parcel.key, "X-Trainyard-Timestamp": timestamp}
    if parcel.secret:
        headers["X-Trainyard-Signature"] = "sha256=" + signature(parcel.secret, timestamp, body)
    answer = post(parcel.target, body, headers)
    return by_status(answer) if isinstance(answer, Answer) else answer


def signature(secret: str, timestamp: str, body: bytes) -> str:
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, "sha256").hexdigest()


def document(parcel: Parcel, told: Any) -> dict[str, Any]:
    """As docs/help describes it; a field may come to be, and none changes its meaning within a version."""
    notice, team = parcel.notice, parcel.notice.team
    return {
        "version": VERSION,
        "events": list(notice.codes),
        "at": notice.at.isoformat(),
        "subject": {
            "kind": notice.subject,
            "id": told.id or str(notice.subject_id),
            "name": told.name,
        },
        "team": {"id": team.pk, "name": team.name} if team else None,
        "title": told.title,
        "text": told.text,
        "facts": [{"label": label, "value": value} for label, value in told.facts],
        "log": list(told.log),
        "url": parcel.link,
    }
