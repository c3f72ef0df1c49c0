"""Where the console sends to, and where it never does: at save and at every delivery alike."""

import os
import socket
import subprocess
import sys
from ipaddress import ip_address, ip_network

import pytest
from django.core.exceptions import ImproperlyConfigured

from alerts.message import Told
from alerts.rules import Kind
from alerts.senders import Refused, Sent, send, target_check
from alerts.senders.addresses import permitted
from alerts.senders.client import post
from alerts.senders.outcomes import Later
from tests.alerts.receivers import Reply, http_sink

REFUSED_ADDRESSES = [
    *("127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "192.168.1.1"),
    *("169.254.169.254", "100.64.0.1", "100.100.100.200", "192.0.0.192", "168.63.129.16", "198.18.0.1"),
    *("224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "192.0.2.1", "203.0.113.9"),
    *("::", "::1", "::7f00:1", "fe80::1", "fe80::1%2", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1"),
    "3fff::1",
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "2001:db8::1"),
    *("2002:7f00:1::", "2002:a9fe:a9fe::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808"),
    "2001:0:4136:e378:8000:63bf:80ff:fffe",  # Teredo of 127.0.0.1
    "2a00:1450::5efe:7f00:1",  # ISATAP of 127.0.0.1
]
PUBLIC_ADDRESSES = [
    *("8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.1", "172.32.0.1", "2606:4700::1111"),
    *("::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"),
]


@pytest.mark.parametrize("address", REFUSED_ADDRESSES)
def test_addresses_that_are_refused(address):
    assert not permitted(ip_address(address))


@pytest.mark.parametrize("address", PUBLIC_ADDRESSES)
def test_addresses_that_are_public(address):
    assert permitted(ip_address(address))


def test_networks_that_are_allowed(settings):
    settings.ALERT_ALLOWED_NETWORKS = [ip_network("10.1.0.0/16"), ip_network("fd00:1::/32")]
    assert permitted(ip_address("10.1.2.3"))
    assert permitted(ip_address("::ffff:10.1.2.3"))
    assert permitted(ip_address("fd00:1::5"))
    assert not permitted(ip_address("10.2.0.1"))
    assert not permitted(ip_address("127.0.0.1"))


URLS = [
    ("http://127.0.0.1/", "address_refused"),
    ("http://127.1/", "address_refused"),
    ("http://2130706433/", "address_refused"),
    ("http://0177.0.0.1/", "address_refused"),
    ("http://0x7f.0.0.1/", "address_refused"),
    ("http://0x7f000001/", "address_refused"),
    ("http://0/", "address_refused"),
    ("http://[::1]/", "address_refused"),
    ("http://[::ffff:127.0.0.1]/", "address_refused"),
    ("http://[::ffff:7f00:1]/", "address_refused"),
    ("http://[64:ff9b::7f00:1]/", "address_refused"),
    ("http://169.254.169.254/latest/meta-data/", "address_refused"),
    ("http://[fd00:ec2::254]/latest/", "address_refused"),
    ("http://10.0.0.1:8000/", "address_refused"),
    ("http://100.64.0.1/", "address_refused"),
    ("http://localhost/", "address_refused"),
    ("http://LOCALHOST/", "address_refused"),
    ("http://localhost./", "address_refused"),
    ("http://１２７.０.０.１/", "address_refused"),
    ("http://①②⑦.⓪.⓪.①/", "address_refused"),
    ("http://127。0。0。1/", "address_refused"),
    ("http://good.example@127.0.0.1/", "address_user"),
    ("http://user:secret@8.8.8.8/", "address_user"),
    ("http://@8.8.8.8/", "address_user"),
    ("file:///etc/passwd", "address_scheme"),
    ("gopher://8.8.8.8/", "address_scheme"),
    ("ftp://8.8.8.8/", "address_scheme"),
    ("javascript:alert(1)", "address_scheme"),
    ("8.8.8.8", "address_scheme"),
    ("", "address_scheme"),
    ("http://", "address_form"),
    ("http:///path", "address_form"),
    ("http://./", "address_form"),
    ("http://8.8.8.8:0/", "address_form"),
    ("http://8.8.8.8:99999/", "address_form"),
    ("http://8.8.8.8:x/", "address_form"),
    ("http://[::1/", "address_form"),
    ("http://8.8.8.8/a b", "address_form"),
    ("http://8.8.8.8/\r\nHost: x", "address_form"),
    ("http://8.8.8.8\\@127.0.0.1/", "address_form"),
    ("http://8.8.8.8/é", "address_form"),
    ("http://8.8.8.8/" + "a" * 2000, "address_form"),
    ("http://" + "a" * 64 + ".example/", "address_form"),
    ("http://no-such-name.invalid/", "address_unknown"),
]


@pytest.mark.parametrize(("url", "code"), URLS)
@pytest.mark.parametrize("kind", [Kind.WEBHOOK])
def test_urls_at_save(kind, url, code):
    refused = target_check(kind, url)
    assert refused is not None
    assert refused.code == code


@pytest.mark.parametrize(("url", "code"), URLS)
def test_urls_at_delivery(channel, notice, told, url, code):
    outcome = send(channel("webhook", url), notice, told)
    assert outcome == (Later(code) if code == "address_unknown" else Refused(code))


def answers(monkeypatch, *rounds):
    """The resolver says these addresses, one tuple each time it is asked; how often it was."""
    asked = []

    def resolve(host, port, **_more):
        asked.append(host)
        family = {True: socket.AF_INET6, False: socket.AF_INET}
        now = rounds[min(len(asked), len(rounds)) - 1]
        return [(family[":" in one], socket.SOCK_STREAM, 6, "", (one, port)) for one in now]

    monkeypatch.setattr("alerts.senders.addresses.getaddrinfo", resolve)
    return asked


class TestNames:
    def test_a_name_that_changes_between_save_and_delivery(self, channel, notice, told, monkeypatch):
        asked = answers(monkeypatch, ["8.8.8.8"], ["127.0.0.1"])
        with http_sink() as inner:
            url = inner.url(host="hooks.example.org")
            assert target_check("webhook", url) is None
            assert send(channel("webhook", url), notice, told) == Refused("address_refused")
            assert inner.connections == 0
        assert len(asked) == 2

    def test_one_bad_address_among_good_ones(self, monkeypatch):
        answers(monkeypatch, ["8.8.8.8", "10.0.0.1"])
        assert target_check("webhook", "https://hooks.example.org/") == Refused("address_refused")

    def test_a_try_asks_once_and_connects_to_what_was_checked(self, settings, monkeypatch):
        settings.ALERT_ALLOWED_NETWORKS = [ip_network("127.0.0.2/32")]
        asked = answers(monkeypatch, ["127.0.0.2"], ["127.0.0.1"])
        with http_sink("127.0.0.2") as sink:
            assert post(sink.url(host="hooks.example.org"), b"{}").status == 200
            assert sink.asked[0].headers["Host"] == f"hooks.example.org:{sink.port}"
        assert asked == ["hooks.example.org"]

    def test_the_next_address_where_one_takes_no_connection(self, loopback, monkeypatch):
        with http_sink("127.0.0.2") as sink:
            answers(monkeypatch, ["127.0.0.1", "127.0.0.2"])
            assert post(sink.url(host="hooks.example.org"), b"{}").status == 200

    def test_ipv6(self, loopback):
        with http_sink("::1") as sink:
            sink.answer(Reply())
            assert post(f"http://[::1]:{sink.port}/", b"{}").status == 200
            assert sink.asked[0].headers["Host"] == f"[::1]:{sink.port}"


def test_permitted_networks_open_loopback(sink, channel, notice, told):
    assert target_check("webhook", sink.url()) is None
    assert send(channel("webhook", sink.url()), notice, told) == Sent()
    assert len(sink.asked) == 1


@pytest.mark.parametrize("value", ["10.0.0.1/8", "all", "10.0.0.0/33", "::/129"])
def test_malformed_networks_are_told_at_start(value):
    done = subprocess.run(
        [sys.executable, "-c", "import console.settings"],
        env={**os.environ, "ALERT_ALLOWED_NETWORKS": value},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode
    assert f"{ImproperlyConfigured.__name__}: ALERT_ALLOWED_NETWORKS" in done.stderr


def test_a_told_without_anything_is_sent_too(sink, channel, notice):
    assert send(channel("webhook", sink.url()), notice, Told("")) == Sent()


def test_a_lease_that_a_try_can_outlast_is_refused_at_the_start():
    done = subprocess.run(
        [sys.executable, "-c", "from console import settings"],
        env={**os.environ, "ALERT_SECONDS": "10", "ALERT_LEASE_SECONDS": "10"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0
    assert f"{ImproperlyConfigured.__name__}: ALERT_LEASE_SECONDS" in done.stderr
