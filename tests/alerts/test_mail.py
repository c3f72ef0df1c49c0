"""Mail, against a real mail server on loopback."""

import os
import subprocess
import sys
from dataclasses import replace
from email import message_from_bytes, policy
from threading import Event

import pytest

from alerts.senders import Later, Refused, Sent, kinds_offered, send, target_check
from tests.alerts.receivers import dead_port, dripping_port


def parsed(raw):
    return message_from_bytes(raw, policy=policy.default)


def test_a_mail(mails, channel, notice, told, settings):
    settings.CONSOLE_URL = "https://console.example.org"
    one = channel("email", "ann@example.org")
    told = replace(told, title="训练 digits 失败 🚀")
    assert send(one, notice, told) == Sent()
    mail = parsed(mails.raw[0])
    assert mails.recipients == [["ann@example.org"]]
    assert (mail["To"], mail["From"]) == ("ann@example.org", "trainyard@example.org")
    assert mail["Subject"] == "训练 digits 失败 🚀"
    assert mail["Date"]
    assert mail["Message-ID"] == f"<{notice.pk}-{one.pk}-1772600767@console.example.org>"
    assert mail.get_content_type() == "text/plain"
    assert mail.get_content().replace("\r\n", "\n") == (
        "训练 digits 失败 🚀\n\nA Worker ended with exit code 3.\n\n"
        "State: failed\nExit code: 3\nWorker: 0\n\n"
        "https://console.example.org/jobs/jo-0123456789abcdef/\n\n"
        "Last lines of output:\nepoch 1\n  loss 0.5\nTraceback\n"
    )


def test_the_second_try_has_the_same_id(mails, channel, notice, told):
    one, other = channel("email", "ann@example.org"), channel("email", "ann@example.org")
    for to in (one, one, other):
        send(to, notice, told)
    ids = [parsed(raw)["Message-ID"] for raw in mails.raw]
    assert ids[0] == ids[1] != ids[2]


def test_line_breaks_make_no_headers(mails, channel, notice, told):
    told = replace(told, title="a\r\nBcc: eve@example.org\n\nHello\x0b\x85\u2028there")
    assert send(channel("email", "ann@example.org"), notice, told) == Sent()
    mail = parsed(mails.raw[0])
    assert mail["Bcc"] is None
    assert "Bcc: eve@example.org Hello" in mail["Subject"]
    assert mails.recipients == [["ann@example.org"]]


@pytest.mark.parametrize(
    "address",
    ["", "ann", "ann@", "a@b", "ann@example.org\nBcc: eve@example.org", "a@example.org, b@example.org"],
)
def test_what_is_no_address(mails, channel, notice, told, address):
    assert target_check("email", address) == Refused("mail_address")
    assert send(channel("email", address), notice, told) == Refused("mail_address")
    assert mails.raw == []


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("550 no such user", Refused("mail_refused", {"status": 550})),
        ("451 greylisted", Later("mail_later", {"status": 451})),
    ],
)
@pytest.mark.parametrize("step", ["rcpt_answer", "data_answer"])
def test_answers_of_the_server(mails, channel, notice, told, step, answer, outcome):
    setattr(mails, step, answer)
    assert send(channel("email", "ann@example.org"), notice, told) == outcome


def test_a_dead_server(mails, channel, notice, told, settings):
    settings.EMAIL_PORT = dead_port()
    assert send(channel("email", "ann@example.org"), notice, told) == Later("mail_server")


@pytest.mark.parametrize("implicit_tls", [False, True])
def test_a_server_that_drips(mails, channel, notice, told, settings, implicit_tls):
    settings.ALERT_SECONDS, settings.EMAIL_USE_SSL = 0.3, implicit_tls
    with dripping_port(b"\x16\x03\x03\x40\x00\x02" if implicit_tls else b"220 ") as port:
        settings.EMAIL_PORT = port
        outcome = send(channel("email", "ann@example.org"), notice, told)
    assert outcome == Later("timeout", {"seconds": 0.3})


def test_a_resolver_that_does_not_answer(mails, channel, notice, told, settings, monkeypatch):
    settings.ALERT_SECONDS = 0.3
    stuck = Event()
    monkeypatch.setattr("socket.getaddrinfo", lambda *_a, **_k: stuck.wait() and [])
    outcome = send(channel("email", "ann@example.org"), notice, told)
    stuck.set()
    assert outcome == Later("timeout", {"seconds": 0.3})


def test_a_password_that_is_wrong_is_not_the_channels_fault(mails, channel, notice, told, settings):
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "trainyard", "secret"
    assert send(channel("email", "ann@example.org"), notice, told) == Later("mail_server")


def test_no_server(channel, notice, told, settings):
    settings.EMAIL_BACKEND, settings.EMAIL_HOST = "django.core.mail.backends.smtp.EmailBackend", ""
    assert "email" not in kinds_offered()
    assert target_check("email", "ann@example.org") == Refused("no_mail_server")
    assert send(channel("email", "ann@example.org"), notice, told) == Refused("no_mail_server")


def test_an_empty_sender_is_the_default_one() -> None:
    """As compose files pass what nobody has set."""
    env = os.environ | {"DEFAULT_FROM_EMAIL": "", "DJANGO_SETTINGS_MODULE": "console.settings"}
    asked = "from django.conf import settings; print(settings.DEFAULT_FROM_EMAIL)"
    done = subprocess.run([sys.executable, "-c", asked], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "trainyard@localhost"
