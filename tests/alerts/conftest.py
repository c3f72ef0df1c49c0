"""Channels, notices and receivers for tests of alerts."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from ipaddress import ip_network
from typing import Any

import pytest

from alerts.message import Told
from alerts.models import Channel, Notice
from teams import vault
from tests.alerts.receivers import MailSink, Sink, http_sink, mail_sink
from tests.factories import make_team, make_user, unique

AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


@pytest.fixture
def loopback(settings: Any) -> None:
    """Receivers of the test may be reached."""
    settings.ALERT_ALLOWED_NETWORKS = [ip_network("127.0.0.0/8"), ip_network("::1/128")]


@pytest.fixture
def sink(loopback: None) -> Iterator[Sink]:
    with http_sink() as receiver:
        yield receiver


@pytest.fixture
def mails(settings: Any) -> Iterator[MailSink]:
    """A mail server, and the console set to send by it."""
    with mail_sink() as receiver:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", receiver.port
        settings.DEFAULT_FROM_EMAIL = "trainyard@example.org"
        yield receiver


@pytest.fixture
def channel(db: None) -> Callable[..., Channel]:
    """Makes a channel of a kind to a target, with a secret if given."""

    def make(kind: str, target: str, secret: str = "", **fields: Any) -> Channel:
        owner = fields.pop("owner", None) or make_user(make_team())
        return Channel.objects.create(
            owner=owner,
            name=unique("channel"),
            kind=kind,
            target=vault.encrypt(target),
            secret=vault.encrypt(secret) if secret else None,
            shown="…",
            **fields,
        )

    return make


@pytest.fixture
def notice(db: None) -> Notice:
    return Notice.objects.create(
        key=unique("notice"),
        codes=["failed", "restarts_used_up"],
        subject="job",
        subject_id=7,
        team=make_team("vision"),
        at=AT,
    )


@pytest.fixture
def told() -> Told:
    return Told(
        title="digits failed",
        text="A Worker ended with exit code 3.",
        facts=(("State", "failed"), ("Exit code", "3"), ("Worker", "0")),
        path="/jobs/jo-0123456789abcdef/",
        log=("epoch 1", "  loss 0.5", "Traceback"),
        name="digits",
        id="jo-0123456789abcdef",
    )
