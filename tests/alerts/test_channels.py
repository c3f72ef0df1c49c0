"""Channels: who may do what with them, what is kept and what is never seen again."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from alerts.channels import (
    LONGEST_NAME,
    LONGEST_SECRET,
    MOST_CHANNELS,
    Asked,
    ChannelRefused,
    channel_change,
    channel_create,
    channel_delete,
    channel_test,
    may_change,
    roles_of,
    rules_ended_by,
    shown_target,
)
from alerts.models import Channel, Delivery, Rule
from alerts.rules import Kind, State, Subject
from teams.models import User
from teams.vault import decrypt
from tests.alerts.made import make_rule
from tests.factories import make_channel, make_team, make_user

pytestmark = pytest.mark.django_db
URL = "https://203.0.114.7/hooks/T0K3N-4711"


def asked(**fields: Any) -> Asked:
    return Asked(**{"name": "phone", "kind": "webhook", "target": URL} | fields)


def refusals(call: Any, **kwargs: Any) -> list[tuple[str, str]]:
    with pytest.raises(ChannelRefused) as refused:
        call(**kwargs)
    return [(one.field, one.code) for one in refused.value.refusals]


def test_address_and_secret_lie_encrypted_and_only_a_part_is_shown() -> None:
    channel = make_channel(make_user())
    assert channel.shown == "https://203.0.114.7"
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM alerts_channel")
        row = b" ".join(bytes(v) if isinstance(v, memoryview) else str(v).encode() for v in cursor.fetchone())
    assert b"T0K3N" not in row
    assert b"s3cr3t" not in row
    kept = Channel.objects.get()
    assert decrypt(kept.target) == URL
    assert decrypt(kept.secret) == "s3cr3t-4711"


@pytest.mark.parametrize(
    ("kind", "target", "shown"),
    [
        (Kind.EMAIL, "alice@example.org", "alice@example.org"),
        (Kind.WEBHOOK, "https://me:pw@example.org:8443/a?key=b#c", "https://example.org:8443"),
        (Kind.FEISHU, "https://open.feishu.cn/open-apis/bot/v2/hook/xyz", "https://open.feishu.cn"),
        (Kind.WEBHOOK, "http://[2001:db8::1]:80/x", "http://[2001:db8::1]:80"),
        (Kind.APPRISE, "tgram://123456:bottoken/chat", "tgram://…"),
    ],
)
def test_what_is_shown_of_an_address(kind: str, target: str, shown: str) -> None:
    assert shown_target(kind, target) == shown


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"name": " "}, [("name", "required")]),
        ({"name": "x" * (LONGEST_NAME + 1)}, [("name", "too_long")]),
        ({"name": "a\nb"}, [("name", "not_printable")]),
        ({"kind": "pigeon"}, [("kind", "unknown")]),
        ({"target": None}, [("target", "required")]),
        ({"target": ""}, [("target", "required")]),
        ({"target": "no address"}, [("target", "address_form")]),
        ({"kind": "email", "target": "alice"}, [("target", "mail_address")]),
        ({"kind": "email", "target": "a@example.org", "secret": "s"}, [("secret", "no_secret")]),
        ({"kind": "apprise", "target": "json://example.org"}, [("kind", "kind_off")]),
        ({"target": "http://127.0.0.1:6379/"}, [("target", "address_refused")]),
        ({"secret": "x" * (LONGEST_SECRET + 1)}, [("secret", "too_long")]),
        ({"language": "tlh"}, [("language", "unknown")]),
        ({"name": "", "language": "tlh"}, [("name", "required"), ("language", "unknown")]),
    ],
)
def test_what_no_channel_can_be(fields: dict[str, Any], refused: list[tuple[str, str]]) -> None:
    assert refusals(channel_create, owner=make_user(), asked=asked(**fields)) == refused
    assert not Channel.objects.exists()


def test_names_of_the_limit_and_of_any_signs() -> None:
    for name in ("渠" * LONGEST_NAME, '训练-🚀 "q" <img src=x onerror=alert(1)> ../../x (1)'):
        assert channel_create(owner=make_user(), asked=asked(name=name)).name == name


def test_a_name_is_given_once_a_person() -> None:
    alice, bob = make_user(), make_user()
    first, other = make_channel(alice, name="phone"), make_channel(alice, name="mail")
    make_channel(bob, name="phone")
    assert refusals(channel_create, owner=alice, asked=asked(name=" phone ")) == [("name", "name_taken")]
    renamed = Asked.like(other, name="phone")
    assert refusals(channel_change, channel=other, actor=alice, asked=renamed) == [("name", "name_taken")]
    channel_change(channel=first, actor=alice, asked=Asked.like(first, name="phone"))


def test_a_person_has_only_so_many() -> None:
    alice = make_user()
    for _ in range(MOST_CHANNELS):
        make_channel(alice)
    assert refusals(channel_create, owner=alice, asked=asked()) == [("name", "too_many_channels")]
    make_channel(make_user())


def test_what_is_not_named_anew_stays_and_stars_are_a_secret_too() -> None:
    alice = make_user()
    channel = make_channel(alice)
    channel_change(channel=channel, actor=alice, asked=Asked.like(channel, name="other"))
    kept = Channel.objects.get()
    assert (kept.name, decrypt(kept.target), decrypt(kept.secret)) == ("other", URL, "s3cr3t-4711")
    channel_change(channel=kept, actor=alice, asked=Asked.like(kept, secret="********"))
    assert decrypt(Channel.objects.get().secret) == "********"
    channel_change(channel=kept, actor=alice, asked=Asked.like(kept, secret=""))
    assert Channel.objects.get().secret is None
    moved = Asked.like(kept, target="https://203.0.114.8/else")
    channel_change(channel=kept, actor=alice, asked=moved)
    assert Channel.objects.get().shown == "https://203.0.114.8"


def test_only_a_new_address_or_secret_gives_a_disabled_channel_another_chance() -> None:
    alice = make_user()
    channel = make_channel(alice)
    for changes, disabled in ([{"name": "n"}, True], [{"target": URL}, False], [{"secret": "new"}, False]):
        Channel.objects.update(disabled_at="2026-01-01T00:00:00Z", refusals=3)
        channel.refresh_from_db()
        channel_change(channel=channel, actor=alice, asked=Asked.like(channel, **changes))
        channel.refresh_from_db()
        assert (channel.disabled_at is not None) is disabled
        assert (channel.refusals == 3) is disabled


def changers(channel: Channel, *users: User) -> list[User]:
    return [user for user in users if may_change(user=user, channel=channel, roles=roles_of(user))]


def test_what_somebody_else_changed_meanwhile_stays() -> None:
    alice = make_user()
    stale = make_channel(alice)
    new = Asked.like(stale, target="https://203.0.114.8/else", secret="new", language="en")
    channel_change(channel=Channel.objects.get(), actor=alice, asked=new)
    channel_change(channel=stale, actor=alice, asked=Asked.like(stale, name="renamed", with_log=False))
    kept = Channel.objects.get()
    assert (kept.name, kept.with_log, kept.language) == ("renamed", False, "en")
    assert (decrypt(kept.target), kept.shown) == ("https://203.0.114.8/else", "https://203.0.114.8")
    assert decrypt(kept.secret) == "new"


def test_deleted_meanwhile_it_is_changed_no_more() -> None:
    alice = make_user()
    channel = make_channel(alice)
    Channel.objects.get().delete()
    renamed = Asked.like(channel, name="renamed")
    refused = refusals(channel_change, channel=channel, actor=alice, asked=renamed)
    assert refused == [("channel", "channel_deleted")]
    assert not Channel.objects.exists()


def test_who_may_use_and_who_may_change() -> None:
    team = make_team()
    alice, mate, boss, stranger = make_user(team), make_user(team), make_user(team, admin=True), make_user()
    private, shared = make_channel(alice), make_channel(alice, team)
    elsewhere = make_user(make_team(), admin=True)
    usable = {user: set(Channel.objects.for_user(user)) for user in (alice, mate, boss, stranger, elsewhere)}
    assert usable == {
        alice: {private, shared}, mate: {shared}, boss: {shared}, stranger: set(), elsewhere: set()
    }  # fmt: skip
    assert changers(shared, *usable) == [alice, boss]
    assert changers(private, *usable) == [alice]
    alice.memberships.all().delete()
    assert changers(shared, *usable) == [boss]
    assert changers(private, *usable) == [alice]


def test_it_is_shared_with_a_team_of_ones_own() -> None:
    team, other = make_team(), make_team()
    alice, boss = make_user(team), make_user(team, admin=True)
    assert refusals(channel_create, owner=alice, asked=asked(team=other)) == [("team", "unknown")]
    channel = make_channel(alice, team)
    moved = Asked.like(channel, team=other)
    assert refusals(channel_change, channel=channel, actor=boss, asked=moved) == [("team", "unknown")]
    alice.memberships.all().delete()
    channel_change(channel=channel, actor=alice, asked=Asked.like(channel, name="still shared"))
    assert Channel.objects.get().team == team


def test_whoever_may_use_it_no_more_does_not_begin_new_jobs_with_it() -> None:
    team = make_team()
    alice, mate = make_user(team), make_user(team)
    channel = make_channel(alice, team)
    for user in (alice, mate):
        Rule.objects.create(channel=channel, subject="person", subject_id=user.pk, events=["failed"])
    channel_change(channel=channel, actor=alice, asked=Asked.like(channel, team=None))
    assert list(Rule.objects.values_list("subject_id", flat=True)) == [alice.pk]


def test_rules_of_jobs_end_with_the_sharing_that_they_needed() -> None:
    team, other = make_team(), make_team()
    alice, mate = make_user(team, other), make_user(team, other)
    for goes_to, left in ((team, [alice, mate]), (None, [alice]), (other, [])):
        channel = make_channel(alice, team)
        for author in (alice, mate):
            make_rule(channel, Subject.JOB, 1, "failed", author=author)
        ended = rules_ended_by(channel, goes_to).count()
        channel_change(channel=channel, actor=alice, asked=Asked.like(channel, team=goes_to))
        assert [rule.author for rule in channel.rules.order_by("pk")] == left
        assert ended == 2 - len(left)
    private = make_channel(alice)
    make_rule(private, Subject.JOB, 1, "failed", author=alice)
    assert not rules_ended_by(private, team).exists()


def test_a_test_is_a_delivery_like_any_and_one_at_a_time() -> None:
    alice = make_user()
    channel = make_channel(alice)
    first = channel_test(channel=channel, actor=alice)
    assert (first.state, first.notice.codes, first.channel) == (State.WAITING, ["test"], channel)
    assert first.due_at is not None
    assert channel_test(channel=channel, actor=alice) == first
    Delivery.objects.update(state=State.GIVEN_UP, due_at=None)
    assert channel_test(channel=channel, actor=alice) != first
    assert not first.notice.readings.exists()


def test_rules_go_with_a_channel_and_the_record_stays() -> None:
    alice = make_user()
    channel = make_channel(alice, name="phone")
    delivery = channel_test(channel=channel, actor=alice)
    Rule.objects.create(channel=channel, subject="person", subject_id=alice.pk, events=["failed"])
    channel_delete(channel=channel, actor=alice)
    delivery.refresh_from_db()
    assert (delivery.channel, delivery.channel_name) == (None, "phone")
    assert not Rule.objects.exists()


def test_neither_address_nor_secret_is_in_what_a_log_would_show() -> None:
    shown = repr(asked(secret="s3cr3t-4711"))
    assert "phone" in shown
    assert "T0K3N" not in shown
    assert "s3cr3t" not in shown
