"""Services that only the library Apprise knows, where an administrator allows it.

Apprise connects by itself: hosts in an address are checked before, but not held to at the connection, and why
a service took nothing is not told.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from urllib.parse import unquote_plus

from apprise import Apprise, AppriseAsset, NotifyFormat
from django.conf import settings

from alerts.senders.addresses import Wrong, addresses_of
from alerts.senders.client import Deadline
from alerts.senders.outcomes import Later, Outcome, Refused, Sent
from alerts.senders.parcel import Parcel, fitted
from alerts.senders.patience import within
from alerts.senders.robots import plain_text

MOST_CHARACTERS = 30_000  # where Apprise knows no bound of the service

# What reads files or shows something on the console's own machine, and what changes how Apprise goes about.
_LOCAL = frozenset(
    ("blink1", "dbus", "fcm", "glib", "gnome", "kde", "macosx", "qt", "syslog", "vapid", "windows")
)
_WORDS = re.compile(
    r"[?&;][\s+:-]*(?:attach|keyfile|pgp\w*|redirect|retry|subfile|template|wait)\s*=", re.IGNORECASE
)


def place_error(target: str, seconds: float) -> Refused | Later | None:
    """Why nothing is sent there."""
    if target.partition("://")[0].strip().lower() in _LOCAL or _WORDS.search(unquote_plus(target)):
        return Refused("apprise_local")
    service = _service(target)
    if service is None:
        return Refused("apprise_form")
    deadline = Deadline(seconds)
    try:
        for host in _hosts(service):
            addresses_of(host, int(getattr(service, "port", None) or 443), deadline.left())
    except Wrong as wrong:
        return Later(wrong.code) if wrong.code == "address_unknown" else Refused(wrong.code)
    except TimeoutError:
        return Later("timeout", {"seconds": seconds})
    return None


def send(parcel: Parcel) -> Outcome:
    deadline = Deadline(settings.ALERT_SECONDS)
    wrong = place_error(parcel.target, deadline.left())
    if wrong is not None:
        return wrong
    service = _service(parcel.target)
    body = replace(parcel.told, title="")  # which goes apart
    told = fitted(body, lambda t: len(plain_text(parcel, t)), service.body_maxlen or MOST_CHARACTERS)
    text = plain_text(parcel, told)
    try:
        return within(deadline.left(), lambda: _notified(service, parcel.told.title, text))
    except TimeoutError:
        return Later("timeout", {"seconds": deadline.seconds})


def _notified(service: Any, title: str, text: str) -> Outcome:
    apprise = Apprise(asset=service.asset)
    apprise.add(service)
    try:
        taken = apprise.notify(body=text, title=title, body_format=NotifyFormat.TEXT, interpret_escapes=False)
    except Exception:  # whatever a plugin does, the delivery has an end
        return Later("apprise_failed")
    return Sent() if taken else Later("apprise_failed")


def _service(target: str) -> Any:
    """None if Apprise knows no such address."""
    asset = AppriseAsset(
        app_id="Trainyard",
        app_desc="Trainyard",
        app_url=settings.CONSOLE_URL,
        http_redirects=False,
        async_mode=False,
        storage_mode="memory",
        service_timeout=settings.ALERT_SECONDS,
        allow_templates=False,
        pem_autogen=False,
        pgp_autogen=False,
    )
    return Apprise.instantiate(target, asset=asset, suppress_exceptions=True)


def _hosts(service: Any) -> list[str]:
    """Those that the address names. Of most services it names none: they have hosts of their own."""
    named = [service.host] if "host" in service.template_tokens else []
    return [host for host in (*named, getattr(service, "smtp_host", None)) if host]
