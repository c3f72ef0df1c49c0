"""Chat services: what arrives at each, that signatures hold, and what their answers mean."""

import base64
import hashlib
import hmac
import json
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from alerts.delivering import deliveries_send
from alerts.senders import Later, Refused, Sent, send
from tests.alerts.made import post
from tests.alerts.receivers import Reply, dead_port

KINDS = ["feishu", "dingtalk", "wecom", "slack", "teams"]
LINK = "https://console.example.org/jobs/jo-0123456789abcdef/"
TEXT = (
    "digits failed\n\nA Worker ended with exit code 3.\n\nState: failed\nExit code: 3\nWorker: 0\n\n"
    f"Trainyard: {LINK}\n\nLast lines of output:\nepoch 1\n  loss 0.5\nTraceback"
)
GOOD = {
    "feishu": Reply(body=b'{"code": 0, "msg": "success", "data": {}}'),
    "dingtalk": Reply(body=b'{"errcode": 0, "errmsg": "ok"}'),
    "wecom": Reply(body=b'{"errcode": 0, "errmsg": "ok"}'),
    "slack": Reply(body=b"ok"),
    "teams": Reply(202),
}


@pytest.fixture
def deliver(sink, channel, notice, told, settings):
    """Sends to the receiver of the test, which takes it unless told otherwise; the outcome."""
    settings.CONSOLE_URL = "https://console.example.org"

    def go(kind, reply=None, secret="", **changes):
        sink.answer(reply or GOOD[kind])
        one = channel(kind, sink.url("/hook?access_token=token-0123456789"), secret)
        return send(one, notice, replace(told, **changes))

    return go


@pytest.mark.parametrize("kind", KINDS)
def test_right_answers(deliver, sink, kind):
    assert deliver(kind) == Sent()
    assert len(sink.asked) == 1


class TestFeishu:
    def test_message(self, deliver, sink):
        deliver("feishu")
        assert sink.asked[0].json == {
            "msg_type": "post",
            "content": {
                "post": {
                    "zh_cn": {
                        "title": "digits failed",
                        "content": [
                            [text("A Worker ended with exit code 3.")],
                            [text("State: failed\nExit code: 3\nWorker: 0")],
                            [text("Trainyard: "), {"tag": "a", "text": LINK, "href": LINK}],
                            [text("Last lines of output:\nepoch 1\n  loss 0.5\nTraceback")],
                        ],
                    }
                }
            },
        }

    def test_signature(self, deliver, sink):
        deliver("feishu", secret="s3cret")
        document = sink.asked[0].json
        key = f"{document['timestamp']}\ns3cret".encode()
        wanted = base64.b64encode(hmac.new(key, b"", hashlib.sha256).digest()).decode()
        assert document["sign"] == wanted

    def test_the_old_form_of_an_answer(self, deliver):
        assert deliver("feishu", Reply(body=b'{"StatusCode": 0, "StatusMessage": "success"}')) == Sent()

    @pytest.mark.parametrize("status", [200, 400])
    @pytest.mark.parametrize(
        ("number", "outcome", "code"),
        [
            (9499, Refused, "receiver_error"),
            (19001, Refused, "receiver_address"),
            (19021, Refused, "receiver_secret"),
            (19022, Refused, "receiver_network"),
            (19024, Refused, "receiver_keyword"),
            (11232, Later, "receiver_busy"),
        ],
    )
    def test_errors(self, deliver, number, outcome, code, status):
        body = json.dumps({"code": number, "msg": "said so", "data": {}}).encode()
        assert deliver("feishu", Reply(status, body)) == outcome(
            code, {"number": number, "message": "said so"}
        )


def text(words):
    return {"tag": "text", "text": words, "un_escape": False}


class TestDingTalk:
    def test_message(self, deliver, sink):
        deliver("dingtalk")
        assert sink.asked[0].json == {
            "msgtype": "text",
            "text": {"content": TEXT},
            "at": {"atMobiles": [], "atUserIds": [], "isAtAll": False},
        }
        assert sink.asked[0].path == "/hook?access_token=token-0123456789"

    def test_signature(self, deliver, sink):
        deliver("dingtalk", secret="SECs3cret")
        query = parse_qs(urlsplit(sink.asked[0].path).query)
        assert query["access_token"] == ["token-0123456789"]
        assert len(query["timestamp"][0]) == 13
        signed = f"{query['timestamp'][0]}\nSECs3cret".encode()
        wanted = base64.b64encode(hmac.new(b"SECs3cret", signed, hashlib.sha256).digest()).decode()
        assert query["sign"] == [wanted]

    @pytest.mark.parametrize(
        ("number", "words", "outcome", "code"),
        [
            (310000, "sign not match", Refused, "receiver_secret"),
            (310000, "keywords not in content", Refused, "receiver_keyword"),
            (310000, "错误描述:关键词不匹配", Refused, "receiver_keyword"),
            (310000, "ip 1.2.3.4 not in whitelist", Refused, "receiver_network"),
            (300005, "token is not exist", Refused, "receiver_address"),
            (400105, "unsupported message type", Refused, "receiver_error"),
            (130101, "send too fast", Later, "receiver_busy"),
            (-1, "系统繁忙", Later, "receiver_busy"),
        ],
    )
    def test_errors(self, deliver, number, words, outcome, code):
        body = json.dumps({"errcode": number, "errmsg": words}).encode()
        assert deliver("dingtalk", Reply(body=body)) == outcome(code, {"number": number, "message": words})


class TestWeCom:
    def test_message(self, deliver, sink):
        deliver("wecom")
        assert sink.asked[0].json == {"msgtype": "text", "text": {"content": TEXT}}

    @pytest.mark.parametrize(
        ("number", "outcome", "code"),
        [
            (93000, Refused, "receiver_address"),
            (40058, Refused, "receiver_error"),
            (45009, Later, "receiver_busy"),
            (-1, Later, "receiver_busy"),
        ],
    )
    def test_errors(self, deliver, number, outcome, code):
        body = json.dumps({"errcode": number, "errmsg": "said so"}).encode()
        assert deliver("wecom", Reply(body=body)) == outcome(code, {"number": number, "message": "said so"})


class TestSlack:
    def test_message(self, deliver, sink):
        deliver("slack")
        assert sink.asked[0].json == {
            "text": "digits failed",
            "blocks": [
                plain("header", "digits failed"),
                plain("section", "A Worker ended with exit code 3."),
                plain("section", "State: failed\nExit code: 3\nWorker: 0"),
                {"type": "section", "text": {"type": "mrkdwn", "text": f"<{LINK}|Trainyard>"}},
                plain("section", "Last lines of output:\nepoch 1\n  loss 0.5\nTraceback"),
            ],
            "mrkdwn": False,
            "link_names": False,
            "unfurl_links": False,
            "unfurl_media": False,
        }

    def test_no_block_is_too_long(self, deliver, sink):
        deliver("slack", title="汉" * 400, text="t" * 7000, log=("x" * 9000,))
        blocks = sink.asked[0].json["blocks"]
        assert blocks[0] == plain("section", "汉" * 400)
        assert max(len(block["text"]["text"]) for block in blocks) == 3000
        assert "".join(block["text"]["text"] for block in blocks[1:4]) == "t" * 7000

    @pytest.mark.parametrize(
        ("reply", "outcome"),
        [
            (Reply(404, b"no_service"), Refused("status", {"status": 404})),
            (Reply(410, b"channel_is_archived"), Refused("status", {"status": 410})),
            (Reply(500, b"rollup_error"), Later("status", {"status": 500})),
            (Reply(200, b"<html>"), Refused("answer_unknown")),
        ],
    )
    def test_errors(self, deliver, reply, outcome):
        assert deliver("slack", reply) == outcome


def plain(kind, words):
    return {"type": kind, "text": {"type": "plain_text", "text": words, "emoji": False}}


def test_teams_card(deliver, sink):
    deliver("teams")
    document = sink.asked[0].json
    (attachment,) = document["attachments"]
    assert document["type"] == "message"
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    card = attachment["content"]
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Open", "url": LINK}]
    assert {block["type"] for block in card["body"]} == {"RichTextBlock"}
    assert {run["type"] for block in card["body"] for run in block["inlines"]} == {"TextRun"}
    lines = ["".join(run["text"] for run in block["inlines"]) for block in card["body"]]
    assert lines == [
        "digits failed",
        "A Worker ended with exit code 3.",
        *("State: failed", "Exit code: 3", "Worker: 0"),
        *("Last lines of output:", "epoch 1", "  loss 0.5", "Traceback"),
    ]


class TestOfAll:
    @pytest.mark.parametrize("kind", ["feishu", "dingtalk", "wecom", "slack"])
    @pytest.mark.parametrize(
        "body", [b"", b"{}", b"[]", b"null", b"<html>", b"\xff\xfe", b'{"code": "0"}', b"[" * 60_000]
    )
    def test_answers_that_are_none(self, deliver, kind, body):
        assert deliver(kind, Reply(body=body)) == Refused("answer_unknown")

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_full_line_is_tried_again(self, deliver, kind):
        reply = Reply(429, b'{"code": 5, "errcode": 5}', {"Retry-After": "30"})
        assert deliver(kind, reply) == Later("status", {"status": 429, "after": 30})

    @pytest.mark.parametrize("kind", KINDS)
    def test_redirects_and_dead_receivers(self, deliver, channel, notice, told, kind):
        assert deliver(kind, Reply(302, headers={"Location": "/"})) == Refused("redirect", {"status": 302})
        dead = channel(kind, f"http://127.0.0.1:{dead_port()}/")
        assert send(dead, notice, told) == Later("connection")

    @pytest.mark.parametrize("kind", ["feishu", "dingtalk", "wecom", "slack"])
    def test_an_answer_that_drips_is_none(self, deliver, settings, kind):
        settings.ALERT_SECONDS = 0.3
        assert deliver(kind, Reply(drip_body=True)) == Later("timeout", {"seconds": 0.3})

    @pytest.mark.parametrize("kind", KINDS)
    def test_addresses_are_checked(self, channel, notice, told, kind):
        assert send(channel(kind, "http://169.254.169.254/"), notice, told) == Refused("address_refused")

    @pytest.mark.parametrize(
        ("kind", "body"),
        [
            ("feishu", b'{"code":5,"msg":"a\\u0000b\\ud800c\\u202ed"}'),
            ("dingtalk", b'{"errcode":5,"errmsg":"a\\u0000b\\ud800c\\u202ed"}'),
            ("wecom", b'{"errcode":5,"errmsg":"a\\u0000b\\ud800c\\u202ed"}'),
        ],
    )
    def test_what_a_receiver_says_can_be_kept(self, channel, sink, kind, body):
        sink.answer(Reply(body=body))
        (delivery,) = post(channel(kind, sink.url("/hook")))
        assert deliveries_send() == 1
        delivery.refresh_from_db()
        assert delivery.tries == 1
        assert delivery.error["data"]["message"] == "ab?c\ufffdd"

    def test_what_a_receiver_says_repeats_no_secret(self, deliver):
        said = b'{"errcode": 7, "errmsg": "bad token-0123456789\\n for s3cret ' + b"x" * 500 + b'"}'
        message = deliver("dingtalk", Reply(body=said), secret="s3cret").data["message"]
        assert message.startswith("bad … for … xxx")
        assert len(message) <= 200
