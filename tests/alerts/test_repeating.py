"""What did not arrive, sent once more; channels enabled by hand, and a list that follows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from alerts import delivering
from alerts.models import Channel, Delivery
from alerts.repeating import WITHIN, delivery_repeat
from alerts.rules import State
from alerts.senders import Sent
from teams.models import Team, User
from tests.alerts.notices import deliver
from tests.factories import make_channel, make_team, make_user
from tests.jobs.pages import Page

pytestmark = pytest.mark.django_db
REFUSED = {"code": "status", "data": {"status": 404}}
HTMX = {"HX-Request": "true"}


@pytest.fixture
def team() -> Team:
    return make_team()


@pytest.fixture
def alice(team: Team, client: Client) -> User:
    user = make_user(team)
    client.force_login(user)
    return user


def ended(channel: Channel, state: State = State.REFUSED, **fields: Any) -> Delivery:
    delivery = deliver(channel, **fields)
    Delivery.objects.filter(pk=delivery.pk).update(
        state=state, error=REFUSED, tries=3, ended_at=timezone.now(), due_at=None
    )
    delivery.refresh_from_db()
    return delivery


def text(response: Any) -> str:
    return " ".join(Page(response).by_id("content").text.split())


@pytest.mark.parametrize("state", [State.REFUSED, State.GIVEN_UP, State.DROPPED])
def test_it_is_the_same_delivery_that_arrives(
    client: Client, alice: User, team: Team, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = make_channel(alice)
    delivery = ended(channel, state, team=team)
    one = f"/alerts/channels/{channel.pk}/"
    assert "Send again" in text(client.get(one))
    sent = client.post(f"{one}deliveries/{delivery.pk}/again/", follow=True)
    assert "The notice is being sent again." in sent.content.decode()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.tries, delivery.error, delivery.ended_at) == ("waiting", 0, None, None)
    monkeypatch.setattr(delivering, "send", lambda *_args: Sent())
    monkeypatch.setattr(delivering, "told", lambda notice, log: None)
    assert delivering.deliveries_send() == 1
    assert list(Delivery.objects.values_list("pk", "state", "tries")) == [(delivery.pk, "sent", 1)]


def test_two_who_press_at_once_send_it_once(alice: User) -> None:
    seen = ended(make_channel(alice))
    again = Delivery.objects.select_related("channel", "notice").get(pk=seen.pk)
    assert delivery_repeat(delivery=seen)
    assert not delivery_repeat(delivery=again)


def test_not_what_arrived_waits_is_old_a_test_or_of_a_disabled_channel(
    client: Client, alice: User, team: Team
) -> None:
    channel = make_channel(alice)
    old, disabled = ended(channel, team=team), make_channel(alice, name="off")
    Delivery.objects.update(ended_at=timezone.now() - WITHIN - timedelta(minutes=1))
    Channel.objects.filter(pk=disabled.pk).update(disabled_at=timezone.now())
    others = [
        ended(channel, State.SENT, team=team),
        deliver(channel, team=team),
        ended(channel, team=team, codes=["test"]),
        ended(disabled, team=team),
    ]
    for one in (old, *others):
        page = f"/alerts/channels/{one.channel_id}/"
        said = client.post(f"{page}deliveries/{one.pk}/again/", follow=True).content.decode()
        assert "This notice cannot be sent again" in said
        assert "Send again" not in said
    assert Delivery.objects.filter(state=State.WAITING).count() == 1


def test_only_who_may_change_the_channel_sends_again(client: Client, alice: User, team: Team) -> None:
    channel = make_channel(alice, team)
    delivery = ended(channel)
    client.force_login(make_user(team))
    one = f"/alerts/channels/{channel.pk}/"
    assert "Send again" not in text(client.get(one))
    assert client.post(f"{one}deliveries/{delivery.pk}/again/").status_code == 403
    assert client.post(f"{one}enable/").status_code == 403
    client.force_login(make_user(make_team()))
    assert client.post(f"{one}deliveries/{delivery.pk}/again/").status_code == 404
    delivery.refresh_from_db()
    assert delivery.state == State.REFUSED


def test_by_rest(api: Any, team: Team) -> None:
    client = api(alice := make_user(team))
    channel = make_channel(alice)
    delivery = ended(channel, team=team)
    address = f"/api/v1/alert-channels/{channel.pk}/deliveries/{delivery.pk}/send-again/"
    answer = client.post(address)
    assert (answer.status_code, answer.json()["state"], answer.json()["tries"]) == (202, "waiting", 0)
    again = client.post(address)
    assert (again.status_code, again.json()["errors"][0]["code"]) == (409, "not_repeatable")
    assert api(make_user(team)).post(address).status_code == 404


def test_a_disabled_channel_is_enabled_by_hand_and_says_it_was_so(
    client: Client, alice: User, team: Team
) -> None:
    channel = make_channel(alice)
    delivery = ended(channel, State.DROPPED, team=team)
    Delivery.objects.filter(pk=delivery.pk).update(error={"code": "channel_disabled", "data": {}})
    Channel.objects.update(disabled_at=timezone.now(), refusals=3)
    one = f"/alerts/channels/{channel.pk}/"
    assert "enable it after you have mended what went wrong" in text(client.get(one))
    enabled = text(client.post(f"{one}enable/", follow=True))
    assert "enable it after" not in enabled
    assert "The channel was disabled at that time. Send again" in enabled
    channel.refresh_from_db()
    assert (channel.disabled_at, channel.refusals) == (None, 0)
    assert list(Delivery.objects.values_list("state", flat=True)) == ["dropped"]


def test_the_list_follows_while_something_waits(client: Client, alice: User, team: Team) -> None:
    channel = make_channel(alice)
    delivery = deliver(channel, team=team)
    page = Page(client.get(f"/alerts/channels/{channel.pk}/"))
    part = page.by_id("channel-deliveries").attrs
    assert "every" in (part["hx-trigger"] or "")
    assert client.get(part["hx-get"] or "", headers=HTMX).status_code == 204
    due = timezone.now() + timedelta(minutes=2)
    Delivery.objects.update(tries=2, due_at=due, error={"code": "status", "data": {"status": 500}})
    retried = client.get(part["hx-get"] or "", headers=HTMX).content.decode()
    assert "next try:" in retried
    assert due.strftime("%Y-%m-%dT%H:%M:%S") in retried
    Channel.objects.update(busy_until=due)  # a sender has it now: until the end of its lease
    sending = Page(client.get(f"/alerts/channels/{channel.pk}/")).by_id("channel-deliveries").text
    assert "is being sent" in sending
    assert "next try:" not in sending
    Delivery.objects.filter(pk=delivery.pk).update(state=State.SENT, due_at=None, ended_at=timezone.now())
    Channel.objects.update(disabled_at=timezone.now())
    sent = Page(client.get(part["hx-get"] or "", headers=HTMX))
    assert "every" not in (sent.by_id("channel-deliveries").attrs["hx-trigger"] or "")
    assert "disabled" in sent.by_id("channel-state").text
    assert client.get(part["hx-get"] or "")["Location"] == f"/alerts/channels/{channel.pk}/"


def test_of_mail_no_more_is_said_than_is_known(client: Client, alice: User) -> None:
    channel = make_channel(alice, kind="email", target="alice@example.org")
    client.post(f"/alerts/channels/{channel.pk}/test/", headers=HTMX)
    Delivery.objects.update(state=State.SENT)
    watched = f"/alerts/channels/{channel.pk}/test/{Delivery.objects.get().pk}/"
    answer = client.get(watched, headers=HTMX)
    assert "The mail server took it" in answer.content.decode()
    assert answer["HX-Trigger"] == "deliveries"
