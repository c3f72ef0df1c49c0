"""Mail by the server of the settings: plain text, one address."""

from __future__ import annotations

import smtplib
import socket
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.smtp import EmailBackend
from django.core.validators import validate_email

from alerts.senders.client import Deadline, cut_off
from alerts.senders.outcomes import Later, Outcome, Refused, Sent
from alerts.senders.parcel import Parcel, blocks, fitted
from alerts.senders.patience import within

MOST_BYTES = 256 * 1024
_SMTP = "django.core.mail.backends.smtp.EmailBackend"


def configured() -> bool:
    """Whether there is a server to send by."""
    return settings.EMAIL_BACKEND != _SMTP or bool(settings.EMAIL_HOST)


def address_error(address: str) -> str | None:
    """The code of what is wrong with it."""
    if not configured():
        return "no_mail_server"
    try:
        validate_email(address)
    except ValidationError:
        return "mail_address"
    return None


def send(parcel: Parcel) -> Outcome:
    """Only a recipient or a text that the server will never take is refused. That it wants another password
    is not the channel's fault, and may be mended within the hour."""
    wrong = address_error(parcel.target)
    if wrong is not None:
        return Refused(wrong)
    deadline = Deadline(settings.ALERT_SECONDS)
    try:
        with ExitStack() as opened:
            message = _message(parcel)
            message.connection = _connection(deadline, opened)
            message.send()
    except smtplib.SMTPRecipientsRefused as error:
        return _judged(next(iter(error.recipients.values()))[0])
    except smtplib.SMTPDataError as error:
        return _judged(error.smtp_code)
    except (smtplib.SMTPException, OSError) as error:
        if isinstance(error, TimeoutError) or deadline.left() <= 0:
            return Later("timeout", {"seconds": deadline.seconds})
        return Later("mail_server")
    return Sent()


def _judged(code: int) -> Outcome:
    return Refused("mail_refused", {"status": code}) if code >= 500 else Later("mail_later", {"status": code})


def _message(parcel: Parcel) -> EmailMessage:
    """Its Message-ID is the same at each try, so that a mail that came twice can be seen as one."""

    def text(told: Any) -> str:
        return "\n\n".join(blocks(told, parcel.link)) + "\n"

    told = fitted(parcel.told, lambda t: len(text(t).encode()), MOST_BYTES)
    host = urlsplit(settings.CONSOLE_URL).hostname or "localhost"
    headers = {"Message-ID": f"<{parcel.key}@{host}>", "Auto-Submitted": "auto-generated"}
    return EmailMessage(told.title, text(told), None, [parcel.target], headers=headers)


def _connection(deadline: Deadline, opened: ExitStack) -> Any:
    """As the settings say; one by SMTP is cut off at the deadline."""
    if settings.EMAIL_BACKEND != _SMTP:
        return get_connection()
    return _Backend(deadline, opened)


class _Backend(EmailBackend):
    def __init__(self, deadline: Deadline, opened: ExitStack) -> None:
        super().__init__(timeout=max(deadline.left(), 0.001))
        self.deadline, self.opened = deadline, opened

    @property
    def connection_class(self) -> Any:
        """Django's, with a connection that neither comes up nor lasts beyond the deadline."""
        deadline, opened = self.deadline, self.opened

        class Watched(smtplib.SMTP_SSL if self.use_ssl else smtplib.SMTP):  # type: ignore[misc]
            def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
                connect = super()._get_socket
                connected: socket.socket = within(deadline.left(), lambda: connect(host, port, timeout))
                opened.enter_context(cut_off(connected, deadline))
                return connected

        return Watched
