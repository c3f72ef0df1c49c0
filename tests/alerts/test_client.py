"""One try over HTTP, against receivers that answer in every way a receiver can."""

import socket
import ssl
import warnings
from datetime import timedelta
from email.utils import format_datetime
from threading import Event

import pytest
from django.utils import timezone

from alerts.senders.client import MOST_BYTES, Answer, by_status, post
from alerts.senders.outcomes import Later, Refused, Sent
from tests.alerts.certificates import Authority
from tests.alerts.receivers import Reply, dead_port, dripping_port, http_sink


def outcome(sink, reply, path="/hook"):
    sink.answer(reply)
    answer = post(sink.url(path), b"{}")
    return by_status(answer) if isinstance(answer, Answer) else answer


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_success(sink, status):
    assert outcome(sink, Reply(status)) == Sent()


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_statuses_that_are_tried_again(sink, status):
    assert outcome(sink, Reply(status)) == Later("status", {"status": status})


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 410, 413, 422])
def test_statuses_that_are_not(sink, status):
    assert outcome(sink, Reply(status)) == Refused("status", {"status": status})


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(sink, status):
    with http_sink() as inner:
        assert outcome(sink, Reply(status, headers={"Location": inner.url()})) == Refused(
            "redirect", {"status": status}
        )
        assert inner.connections == 0


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7), ("0", 0), ("999999", 3600), ("soon", None), ("-5", None)]
)
def test_retry_after(sink, header, seconds):
    later = outcome(sink, Reply(429, headers={"Retry-After": header}))
    assert later == Later("status", {"status": 429} | ({} if seconds is None else {"after": seconds}))


def test_retry_after_as_a_date(sink):
    header = format_datetime(timezone.now() + timedelta(minutes=5), usegmt=True)
    assert 200 < outcome(sink, Reply(503, headers={"Retry-After": header})).data["after"] <= 300


def test_what_is_sent(sink, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    sink.answer(Reply(headers={"Set-Cookie": "a=b"}))
    for _ in range(2):
        post(sink.url("/a/b?c=d&e=%20f"), b'{"x": 1}', {"X-More": "y"})
    first, second = sink.asked
    assert (first.method, first.path, first.body) == ("POST", "/a/b?c=d&e=%20f", b'{"x": 1}')
    assert first.headers["Host"] == f"127.0.0.1:{sink.port}"
    assert first.headers["Content-Type"] == "application/json; charset=utf-8"
    assert first.headers["X-More"] == "y"
    assert "Cookie" not in second.headers


def test_the_answer_is_read_up_to_a_bound(sink):
    sink.answer(Reply(body=b"y" * (MOST_BYTES * 40)))
    answer = post(sink.url(), b"{}")
    assert (answer.status, answer.body, answer.broken) == (200, b"y" * MOST_BYTES, None)


def test_an_answer_that_breaks_off_keeps_its_status(sink):
    sink.answer(Reply(body=b"{", short=True))
    answer = post(sink.url(), b"{}")
    assert (answer.status, answer.broken) == (200, Later("answer_broken"))


def test_a_receiver_that_hangs_up(sink):
    assert outcome(sink, Reply(hang_up=True)).code in ("answer_broken", "connection")


def test_nobody_listens(loopback):
    assert post(f"http://127.0.0.1:{dead_port()}/", b"{}") == Later("connection")


class TestDeadline:
    """The whole exchange, whatever comes in the meantime; sockets alone would wait anew for each byte."""

    @pytest.fixture(autouse=True)
    def short(self, settings):
        settings.ALERT_SECONDS = 0.3

    def test_no_answer(self, sink):
        assert outcome(sink, Reply(mute=True)) == Later("timeout", {"seconds": 0.3})

    def test_a_head_that_drips(self, sink):
        assert outcome(sink, Reply(drip_head=True)) == Later("timeout", {"seconds": 0.3})

    def test_a_body_that_drips_keeps_its_status(self, sink):
        sink.answer(Reply(drip_body=True))
        answer = post(sink.url(), b"{}")
        assert (answer.status, answer.broken) == (200, Later("timeout", {"seconds": 0.3}))

    def test_tls_that_drips(self, loopback):
        with dripping_port(b"\x16\x03\x03\x40\x00\x02") as port:
            assert post(f"https://127.0.0.1:{port}/", b"{}") == Later("timeout", {"seconds": 0.3})

    def test_a_backlog_that_is_full(self, loopback):
        with socket.socket() as deaf:
            deaf.bind(("127.0.0.1", 0))
            deaf.listen(0)
            port = deaf.getsockname()[1]
            queued = []
            for _ in range(4):
                waiting = socket.socket()
                waiting.setblocking(False)
                waiting.connect_ex(("127.0.0.1", port))
                queued.append(waiting)
            assert post(f"http://127.0.0.1:{port}/", b"{}") == Later("timeout", {"seconds": 0.3})
            for waiting in queued:
                waiting.close()

    def test_a_resolver_that_does_not_answer(self, loopback, monkeypatch):
        stuck = stuck_resolver(monkeypatch)
        assert post("http://console.example/", b"{}") == Later("timeout", {"seconds": 0.3})
        stuck.set()


def stuck_resolver(monkeypatch):
    stuck = Event()
    monkeypatch.setattr("alerts.senders.addresses.getaddrinfo", lambda *_a, **_k: stuck.wait() and [])
    return stuck


class TestTls:
    @pytest.fixture
    def authority(self, tmp_path, settings):
        made = Authority(tmp_path)
        settings.ALERT_CA_FILE = str(made.file)
        return made

    @pytest.fixture
    def named(self, monkeypatch):
        """The name of the receiver leads to loopback."""
        row = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0))
        monkeypatch.setattr("alerts.senders.addresses.getaddrinfo", lambda *_a, **_k: [row])

    def test_name_and_certificate(self, loopback, authority, named):
        with http_sink(tls=authority.server("hooks.example.org")) as sink:
            answer = post(sink.url(host="hooks.example.org"), b"{}")
            assert by_status(answer) == Sent()
            assert sink.named == ["hooks.example.org"]
            assert sink.asked[0].headers["Host"] == f"hooks.example.org:{sink.port}"

    def test_certificate_of_another_name(self, loopback, authority, named):
        with http_sink(tls=authority.server("other.example.org")) as sink:
            later = post(sink.url(host="hooks.example.org"), b"{}")
            assert isinstance(later, Later)
            assert later.code == "certificate"
            assert sink.asked == []

    def test_unknown_authority(self, loopback, authority, named, settings):
        settings.ALERT_CA_FILE = ""
        with http_sink(tls=authority.server("hooks.example.org")) as sink:
            assert post(sink.url(host="hooks.example.org"), b"{}").code == "certificate"
            assert sink.asked == []

    def test_no_tls_there(self, sink):
        assert post(sink.url().replace("http:", "https:"), b"{}").code in ("tls", "connection")

    def test_the_address_itself_may_be_certified(self, loopback, authority):
        with http_sink(tls=authority.server("127.0.0.1")) as sink:
            assert by_status(post(sink.url(), b"{}")) == Sent()


def test_old_tls_is_not_spoken(loopback, tmp_path, settings):
    authority = Authority(tmp_path)
    settings.ALERT_CA_FILE = str(authority.file)
    context = authority.server("127.0.0.1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with http_sink(tls=context) as sink:
        assert post(sink.url(), b"{}").code in ("tls", "connection")
