"""Whatever people name their things, it arrives as it is and means nothing; sizes are kept in bytes."""

import json
from dataclasses import replace

import pytest
from django.utils import translation

from alerts.senders import Sent, send
from tests.alerts.test_mail import parsed
from tests.alerts.test_robots import GOOD

NAME = '训练-🚀 "q" <img src=x onerror=alert(1)> ../../x (1)'
WORDS = [
    NAME,
    "</script><b>",
    '<at user_id="all">everybody</at>',
    "<!channel> <!here> <@U123>",
    "@all @所有人 @channel",
    "*bold* _it_ ~no~ `code` [link](https://evil.example) :tada:",
    "{{name}} ${x} %s %(x)s",
    "=cmd|' /C calc'!A0",
]
LIMITS = {"feishu": 20_000, "dingtalk": 20_000, "slack": 30_000, "teams": 28_000}


def arrived(kind, asked):
    """All text that the receiver would show."""
    document = asked.json
    if kind == "feishu":
        post = document["content"]["post"]["zh_cn"]
        assert {part["tag"] for line in post["content"] for part in line} == {"text", "a"}
        return "\n".join([post["title"], *(part["text"] for line in post["content"] for part in line)])
    if kind in ("dingtalk", "wecom"):
        assert document["msgtype"] == "text"
        return document["text"]["content"].replace("<\u200b@", "<@")
    if kind == "slack":
        blocks = [block["text"] for block in document["blocks"]]
        assert [block["text"] for block in blocks if block["type"] != "plain_text"] == [
            "<http://127.0.0.1:8000/jobs/jo-0123456789abcdef/|Trainyard>"
        ]
        assert not any(block.get("emoji") for block in blocks)
        return "\n".join(block["text"] for block in blocks)
    if kind == "teams":
        body = document["attachments"][0]["content"]["body"]
        return "\n".join("".join(run["text"] for run in block["inlines"]) for block in body)
    return "\n".join(
        [
            document["title"],
            document["text"],
            *(fact["value"] for fact in document["facts"]),
            *document["log"],
        ]
    )


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("kind", [*GOOD, "webhook"])
def test_words_arrive_literally(sink, channel, notice, told, kind, words):
    sink.answer(GOOD.get(kind, GOOD["teams"]))
    told = replace(
        told, title=f"{words} failed", text=f"t {words}", facts=(("Name", f"f {words}"),), log=(f"l {words}",)
    )
    assert send(channel(kind, sink.url()), notice, told) == Sent()
    text = arrived(kind, sink.asked[0])
    for place in (f"{words} failed", f"t {words}", f"f {words}", f"l {words}"):
        assert place in text


@pytest.mark.parametrize("kind", [*GOOD, "webhook"])
def test_nothing_turns_what_is_read(sink, channel, notice, told, kind):
    """A name may not make the rest of a message read backwards; that there was a sign is seen."""
    sink.answer(GOOD.get(kind, GOOD["teams"]))
    told = replace(told, title="\u202egnp.exe\u202c failed", log=("l \u2066x",))
    assert send(channel(kind, sink.url()), notice, told) == Sent()
    text = arrived(kind, sink.asked[0])
    assert "\ufffdgnp.exe\ufffd failed" in text
    assert "l \ufffdx" in text


def test_wecom_calls_nobody(sink, channel, notice, told):
    sink.answer(GOOD["wecom"])
    send(channel("wecom", sink.url()), notice, replace(told, title="<@all> <@ann>"))
    document = sink.asked[0].json
    assert "<@" not in document["text"]["content"]
    assert "mentioned_list" not in document["text"]


def test_slack_notification_has_no_markup(sink, channel, notice, told):
    sink.answer(GOOD["slack"])
    send(channel("slack", sink.url()), notice, replace(told, title="<!channel> & co"))
    assert sink.asked[0].json["text"] == "&lt;!channel&gt; &amp; co"


@pytest.mark.parametrize("words", WORDS)
def test_words_in_a_mail(mails, channel, notice, told, words):
    send(channel("email", "ann@example.org"), notice, replace(told, title=words, log=(words,)))
    mail = parsed(mails.raw[0])
    assert mail["Subject"].strip() == words
    assert mail.get_content_type() == "text/plain"
    assert words in mail.get_content()


@pytest.mark.parametrize("kind", [*GOOD, "webhook"])
def test_line_breaks_make_no_facts(sink, channel, notice, told, kind):
    sink.answer(GOOD.get(kind, GOOD["teams"]))
    told = replace(
        told, title="a\nState: succeeded\x00\x1b[31m", facts=(("Name", "b\r\nState: succeeded\u2028c"),)
    )
    assert send(channel(kind, sink.url()), notice, told) == Sent()
    text = arrived(kind, sink.asked[0])
    assert "a State: succeeded[31m" in text
    assert "b State: succeeded c" in text


def test_broken_unicode_is_replaced(sink, channel, notice, told):
    assert send(channel("webhook", sink.url()), notice, replace(told, title="a\ud800b")) == Sent()
    assert sink.asked[0].json["title"] == "a?b"


@pytest.mark.parametrize("sign", ["a", "汉", "🚀", '"', "<@"])
@pytest.mark.parametrize("kind", [*GOOD])
class TestSizes:
    def size(self, kind, asked):
        if kind == "wecom":
            return len(asked.json["text"]["content"].encode()), 2048
        return len(asked.body), LIMITS[kind]

    def test_the_newest_lines_stay(self, sink, channel, notice, told, kind, sign):
        """With lines of many lengths, so that each border is met."""
        sink.answer(GOOD[kind])
        lines = tuple(f"{n} " + sign * (n * 7) for n in range(300))
        for extra in range(8):
            told = replace(told, text="x" * extra, log=lines)
            assert send(channel(kind, sink.url()), notice, told) == Sent()
            size, most = self.size(kind, sink.asked[-1])
            assert size <= most
            text = arrived(kind, sink.asked[-1])
            for part in ("digits failed", "State: failed", "Exit code: 3", "Worker: 0"):
                assert part in text
            if kind != "teams":
                assert "/jobs/jo-0123456789abcdef/" in text
            assert "299 " in text
            assert "\n0 " not in text

    def test_a_long_text_is_cut_at_a_sign(self, sink, channel, notice, told, kind, sign):
        sink.answer(GOOD[kind])
        for extra in range(8):
            told = replace(told, text="x" * extra + sign * 40_000, log=("last",))
            assert send(channel(kind, sink.url()), notice, told) == Sent()
            size, most = self.size(kind, sink.asked[-1])
            assert most - 60 <= size <= most
            text = arrived(kind, sink.asked[-1])
            assert "digits failed" in text
            assert "Worker: 0" in text
            assert "…" in text
            assert "last" not in text
            json.loads(sink.asked[-1].body)

    def test_a_name_beyond_all_bounds(self, sink, channel, notice, told, kind, sign):
        sink.answer(GOOD[kind])
        told = replace(
            told, title=sign * 30_000, facts=((sign * 30_000, sign * 30_000),), log=(sign * 30_000,)
        )
        assert send(channel(kind, sink.url()), notice, told) == Sent()
        size, most = self.size(kind, sink.asked[-1])
        assert size <= most
        assert arrived(kind, sink.asked[-1])


@pytest.mark.parametrize("kind", [*GOOD])
def test_a_long_name_of_a_job_stays_whole(sink, channel, notice, told, kind):
    sink.answer(GOOD[kind])
    name = "汉" * 128
    told = replace(told, title=f"{name} failed", text="t" * 9000, log=("x" * 200,) * 200)
    assert send(channel(kind, sink.url()), notice, told) == Sent()
    text = arrived(kind, sink.asked[0])
    assert f"{name} failed" in text
    assert "Exit code: 3" in text


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize("kind", [*GOOD, "apprise"])
def test_what_is_added_is_in_the_language_of_the_channel(sink, channel, notice, told, settings, kind):
    settings.ALERT_APPRISE = True
    sink.answer(GOOD.get(kind, GOOD["teams"]))
    url = sink.url().replace("http:", "json:") if kind == "apprise" else sink.url()
    with translation.override("zh-hans"):
        assert send(channel(kind, url), notice, told) == Sent()
    text = sink.asked[0].json["message"] if kind == "apprise" else arrived(kind, sink.asked[0])
    assert "输出的最后几行：\nepoch 1" in text
