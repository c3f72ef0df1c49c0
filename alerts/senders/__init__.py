"""Sending a notice to a channel: one try, judged. What a receiver does never raises.

A try ends within `ALERT_SECONDS`, whatever the receiver and the resolver do.
"""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings

from alerts.message import Told
from alerts.models import Channel, Notice
from alerts.rules import Kind
from alerts.senders import by_apprise, dingtalk, feishu, mail, slack, teams, webhook, wecom
from alerts.senders.addresses import Wrong, addresses_of, place_of
from alerts.senders.outcomes import Later, Outcome, Refused, Sent
from alerts.senders.parcel import Parcel, cleaned
from alerts.signs import plain
from teams import vault

__all__ = ["Later", "Outcome", "Refused", "Sent", "kinds_offered", "send", "target_check"]

_SENDERS = {
    Kind.EMAIL: mail.send,
    Kind.WEBHOOK: webhook.send,
    Kind.FEISHU: feishu.send,
    Kind.DINGTALK: dingtalk.send,
    Kind.WECOM: wecom.send,
    Kind.SLACK: slack.send,
    Kind.TEAMS: teams.send,
    Kind.APPRISE: by_apprise.send,
}
_LEAST_SECRET = re.compile(r"[\w.~+-]{12,}")


def kinds_offered() -> tuple[Kind, ...]:
    """Those that this console can send by."""
    off = {
        *([] if mail.configured() else [Kind.EMAIL]),
        *([] if settings.ALERT_APPRISE else [Kind.APPRISE]),
    }
    return tuple(kind for kind in Kind if kind not in off)


def target_check(kind: str, target: str) -> Refused | None:
    """Why a channel of the kind may not lead there. Resolves the name, as of now."""
    if kind not in kinds_offered():
        return Refused("no_mail_server" if kind == Kind.EMAIL else "kind_off")
    if kind == Kind.EMAIL:
        wrong = mail.address_error(target)
        return Refused(wrong) if wrong else None
    if kind == Kind.APPRISE:
        place_wrong = by_apprise.place_error(target, settings.ALERT_SECONDS)
        return Refused("address_unknown") if isinstance(place_wrong, Later) else place_wrong
    try:
        place = place_of(target)
        addresses_of(place.host, place.port, settings.ALERT_SECONDS)
    except Wrong as wrong_address:
        return Refused(wrong_address.code, wrong_address.data)
    except TimeoutError:
        return Refused("address_unknown")
    return None


def send(channel: Channel, notice: Notice, told: Told) -> Outcome:
    """In the language that is active, which is the one that `told` is in; outside of any transaction."""
    if channel.kind == Kind.APPRISE and not settings.ALERT_APPRISE:
        return Refused("kind_off")
    try:
        target = vault.decrypt(channel.target)
        secret = vault.decrypt(channel.secret) if channel.secret else ""
    except vault.InvalidToken:
        return Refused("unreadable")
    key = f"{notice.pk}-{channel.pk}-{int(notice.at.timestamp())}"
    link = settings.CONSOLE_URL + told.path
    outcome = _SENDERS[Kind(channel.kind)](Parcel(target, secret, notice, cleaned(told), link, key))
    return outcome if isinstance(outcome, Sent) else _scrubbed(outcome, target, secret)


def _scrubbed(outcome: Refused | Later, target: str, secret: str) -> Refused | Later:
    """What a receiver said, certificates included, may hold signs that no database keeps, and may repeat what
    it was sent; the record of a delivery shows it to others."""
    private = {*_LEAST_SECRET.findall(target), *([secret] if secret else [])}
    data: dict[str, Any] = {key: _without(value, private) for key, value in outcome.data.items()}
    return type(outcome)(outcome.code, data)


def _without(value: Any, private: set[str]) -> Any:
    if isinstance(value, str):
        value = plain(value)
        for word in sorted(private, key=len, reverse=True):
            value = value.replace(word, "…")
    return value
