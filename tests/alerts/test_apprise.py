"""Apprise: off until allowed, checked before, and kept to one try within the time."""

import logging
from io import StringIO

import pytest

from alerts.senders import Later, Refused, Sent, kinds_offered, send, target_check
from tests.alerts.receivers import Reply, dead_port


@pytest.fixture
def allowed(settings):
    settings.ALERT_APPRISE = True


def test_off_until_allowed(channel, notice, told, sink):
    url = sink.url().replace("http:", "json:")
    assert "apprise" not in kinds_offered()
    assert target_check("apprise", url) == Refused("kind_off")
    assert send(channel("apprise", url), notice, told) == Refused("kind_off")
    assert sink.connections == 0


def test_a_message(allowed, channel, notice, told, sink):
    url = sink.url().replace("http:", "json:")
    assert "apprise" in kinds_offered()
    assert target_check("apprise", url) is None
    assert send(channel("apprise", url), notice, told) == Sent()
    document = sink.asked[0].json
    assert document["title"] == "digits failed"
    assert document["message"] == (
        "A Worker ended with exit code 3.\n\nState: failed\nExit code: 3\nWorker: 0\n\n"
        "Trainyard: http://127.0.0.1:8000/jobs/jo-0123456789abcdef/\n\n"
        "Last lines of output:\nepoch 1\n  loss 0.5\nTraceback"
    )


@pytest.mark.parametrize(
    "url",
    [
        "json://127.0.0.1/x",
        "xml://localhost:8000/x",
        "form://2130706433/",
        "gotify://169.254.169.254/token",
        "ntfy://10.0.0.1/topic",
        "mqtt://192.168.0.1/topic",
        "rsyslog://127.0.0.1",
        "matrix://user:token@127.0.0.1/#room",
        "apprise://127.0.0.1/token",
        "mailto://user:pass@8.8.8.8?smtp=127.0.0.1&to=ann@example.org",
    ],
)
def test_hosts_are_checked(allowed, channel, notice, told, url):
    refused = target_check("apprise", url)
    assert refused in (Refused("address_refused"), Refused("apprise_form"))
    assert send(channel("apprise", url), notice, told) == refused


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("", "apprise_form"),
        ("nonsense", "apprise_form"),
        ("exec://sh", "apprise_form"),
        ("file:///etc/passwd", "apprise_form"),
        ("json://[::1", "apprise_form"),
        ("syslog://", "apprise_local"),
        ("SYSLOG://", "apprise_local"),
        ("slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#c?template=/etc/passwd", "apprise_local"),
        ("json://8.8.8.8/?redirect=yes", "apprise_local"),
        ("json://8.8.8.8/?a=b&%52edirect=yes", "apprise_local"),
        ("mailto://user:pass@example.org?pgp=yes&pgpprv=/etc/passwd", "apprise_local"),
    ],
)
def test_what_is_not_used(allowed, channel, notice, told, url, code):
    assert target_check("apprise", url) == Refused(code)
    assert send(channel("apprise", url), notice, told) == Refused(code)


def test_failures_may_be_tried_again(allowed, channel, notice, told, sink):
    sink.answer(Reply(500))
    assert send(channel("apprise", sink.url().replace("http:", "json:")), notice, told) == Later(
        "apprise_failed"
    )
    assert len(sink.asked) == 1
    assert send(channel("apprise", f"json://127.0.0.1:{dead_port()}/"), notice, told) == Later(
        "apprise_failed"
    )


def test_redirects_are_not_followed(allowed, channel, notice, told, sink):
    sink.answer(Reply(307, headers={"Location": sink.url("/other")}))
    send(channel("apprise", sink.url().replace("http:", "json:")), notice, told)
    assert [asked.path for asked in sink.asked] == ["/hook"]


def test_a_receiver_that_drips(allowed, channel, notice, told, sink, settings):
    settings.ALERT_SECONDS = 0.3
    sink.answer(Reply(drip_head=True))
    outcome = send(channel("apprise", sink.url().replace("http:", "json:")), notice, told)
    assert outcome == Later("timeout", {"seconds": 0.3})


@pytest.fixture
def written(caplog):
    """What the console's own log would have, were it at its most talkative."""
    caplog.set_level(logging.DEBUG)
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    yield stream
    logging.getLogger().removeHandler(handler)


def test_no_address_is_logged(allowed, channel, notice, told, sink, written):
    target_check("apprise", "json://user:secret-word@[broken")
    sink.answer(Reply(500))
    send(channel("apprise", sink.url("/secret-word").replace("http:", "json:")), notice, told)
    logging.getLogger("alerts").debug("this is written")
    assert "this is written" in written.getvalue()
    assert "secret-word" not in written.getvalue()
