"""The webhook's body and signature, as a receiver checks them, and what may become of it."""

import hashlib
import hmac
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from alerts.rules import MOST_REFUSALS, PAUSES
from alerts.senders import Later, Refused, Sent, dingtalk, feishu, mail, send, slack, teams, webhook, wecom
from alerts.senders.client import MOST_BYTES
from tests.alerts.receivers import Reply


def test_document(sink, channel, notice, told, settings):
    settings.CONSOLE_URL = "https://console.example.org"
    assert send(channel("webhook", sink.url()), notice, told) == Sent()
    assert sink.asked[0].json == {
        "version": 1,
        "events": ["failed", "restarts_used_up"],
        "at": "2026-03-04T05:06:07+00:00",
        "subject": {"kind": "job", "id": "jo-0123456789abcdef", "name": "digits"},
        "team": {"id": notice.team_id, "name": "vision"},
        "title": "digits failed",
        "text": "A Worker ended with exit code 3.",
        "facts": [
            {"label": "State", "value": "failed"},
            {"label": "Exit code", "value": "3"},
            {"label": "Worker", "value": "0"},
        ],
        "log": ["epoch 1", "  loss 0.5", "Traceback"],
        "url": "https://console.example.org/jobs/jo-0123456789abcdef/",
    }


def test_signature(sink, channel, notice, told):
    send(channel("webhook", sink.url(), "s3cret-汉"), notice, told)
    asked = sink.asked[0]
    signed = asked.headers["X-Trainyard-Timestamp"].encode() + b"." + asked.body
    wanted = hmac.new("s3cret-汉".encode(), signed, hashlib.sha256).hexdigest()
    assert asked.headers["X-Trainyard-Signature"] == f"sha256={wanted}"


def test_without_a_secret_nothing_is_signed(sink, channel, notice, told):
    send(channel("webhook", sink.url()), notice, told)
    assert "X-Trainyard-Signature" not in sink.asked[0].headers


def test_each_delivery_has_a_name_that_stays(sink, channel, notice, told):
    first, second = channel("webhook", sink.url()), channel("webhook", sink.url())
    for one in (first, first, second):
        send(one, notice, told)
    names = [asked.headers["X-Trainyard-Delivery"] for asked in sink.asked]
    assert names[0] == names[1] != names[2]


@pytest.mark.parametrize("reply", [Reply(drip_body=True), Reply(short=True, body=b"{")])
def test_what_was_accepted_is_sent_whatever_follows(sink, channel, notice, told, settings, reply):
    settings.ALERT_SECONDS = 0.3
    sink.answer(reply)
    assert send(channel("webhook", sink.url()), notice, told) == Sent()


def test_a_secret_that_no_key_opens(sink, channel, notice, told):
    one = channel("webhook", sink.url(), "secret")
    one.secret = b"gAAAAABm-not-ours"
    assert send(one, notice, told) == Refused("unreadable")
    one.target, one.secret = b"gAAAAABm-not-ours", None
    assert send(one, notice, told) == Refused("unreadable")
    assert sink.connections == 0


def test_failures_name_no_address(channel, notice, told, loopback):
    outcome = send(channel("webhook", "http://127.0.0.1:1/very-secret-path-0123"), notice, told)
    assert outcome == Later("connection")
    assert "secret" not in json.dumps(dict(outcome.data))


def test_a_huge_log_is_cut_from_its_beginning(sink, channel, notice, told):
    lines = tuple(f"{n} " + "汉" * 1000 for n in range(100))
    send(channel("webhook", sink.url()), notice, replace(told, log=lines))
    asked = sink.asked[0]
    kept = asked.json["log"]
    assert len(asked.body) <= MOST_BYTES < len(asked.body) + 3100
    assert kept == list(lines[-len(kept) :])


class TestHelpPage:
    """What the help says of the webhook is what arrives, and its example is pasted by people."""

    PAGE = (Path(__file__).parents[2] / "docs/help/en/alerts.md").read_text()

    def block(self, kind):
        return re.search(rf"^```{kind}\n(.*?)^```$", self.PAGE, re.MULTILINE | re.DOTALL).group(1)

    def test_body(self, sink, channel, notice, told):
        send(channel("webhook", sink.url()), notice, told)
        shown, sent = json.loads(self.block("json")), sink.asked[0].json
        assert shown.keys() == sent.keys()
        assert shown["subject"] == sent["subject"]
        assert shown["events"] == sent["events"]
        assert shown["at"] == sent["at"]
        assert shown["facts"][0] in sent["facts"]

    def test_signature_check(self, sink, channel, notice, told):
        send(channel("webhook", sink.url(), "s3cret"), notice, told)
        names = {}
        exec(self.block("python"), names)
        asked = sink.asked[0]
        assert names["document"](asked.headers, asked.body, "s3cret") == asked.json
        assert names["document"](asked.headers, asked.body, "another") is None
        assert names["document"](asked.headers, asked.body + b" ", "s3cret") is None
        old = {**asked.headers, "X-Trainyard-Timestamp": "1000000000"}
        assert names["document"](old, asked.body, "s3cret") is None

    def test_sizes_and_pauses(self):
        sizes = self.PAGE.partition("{#sizes}")[2].partition("{#apprise}")[0]
        for module in (wecom, feishu, dingtalk, teams, slack, webhook, mail):
            assert f"{module.MOST_BYTES:,}" in sizes
        tries = self.PAGE.partition("{#tries}")[2]
        seconds = [int(pause.total_seconds()) for pause in PAUSES]
        assert [*seconds[:2], *(second // 60 for second in seconds[2:])] == [10, 30, 1, 2, 5, 10, 15, 20]
        assert "10 s, 30 s, 1, 2, 5, 10, 15 and 20 minutes" in tries
        assert f"After {MOST_REFUSALS} refusals" in tries
