"""Claiming, sending, and what comes of it. What receivers answer is scripted here."""

from datetime import UTC, datetime, timedelta
from threading import Barrier, Lock, Thread

import pytest
from django.db import DataError, connection
from django.utils import timezone, translation

from alerts import delivering
from alerts.delivering import MOST_AT_ONCE
from alerts.models import Channel, Delivery, Notice, Reading
from alerts.rules import MOST_TRIES, OLDEST, PAUSES, Subject
from alerts.senders import Later, Refused, Sent
from alerts.subjects import told
from alerts.tasks import slow_deliver
from tests.alerts.made import due, make_channel, post
from tests.factories import make_team, make_user

pytestmark = pytest.mark.django_db


class Receivers:
    """Answers for each channel: a list of outcomes, the last of which stays; what was sent, in order."""

    def __init__(self):
        self.outcomes, self.sent, self.lock = {}, [], Lock()

    def send(self, channel, notice, told):
        with self.lock:
            self.sent.append((channel.pk, notice.key, told))
            script = self.outcomes.get(channel.pk, [Sent()])
            outcome = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def of(self, channel):
        return [key for pk, key, _told in self.sent if pk == channel.pk]


@pytest.fixture
def receivers(monkeypatch):
    found = Receivers()
    monkeypatch.setattr(delivering, "send", found.send)
    return found


@pytest.fixture
def frozen(monkeypatch):
    """The moment that it is."""
    now = datetime(2026, 3, 1, 8, tzinfo=UTC)
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    return now


def state(delivery):
    delivery.refresh_from_db()
    return delivery.state, delivery.tries, (delivery.error or {}).get("code")


def test_what_is_due_is_sent_once(receivers):
    channel = make_channel()
    deliveries = [post(channel)[0] for _ in range(3)]
    slow_deliver()
    slow_deliver()
    assert [state(one) for one in deliveries] == [("sent", 1, None)] * 3
    assert len(receivers.of(channel)) == 3
    assert all(one.ended_at and one.due_at is None for one in deliveries)


def test_what_cannot_be_settled_ends_neither_the_task_nor_stays(receivers, monkeypatch):
    bad, good = make_channel(), make_channel()
    receivers.outcomes[bad.pk] = [Refused("answer", {"message": "a"})]
    deliveries = [post(channel)[0] for channel in (bad, good)]

    def refused(*_args):
        raise DataError

    monkeypatch.setattr(delivering, "_refused", refused)
    assert delivering.deliveries_send() == 2
    assert [state(one) for one in deliveries] == [("waiting", 1, "internal"), ("sent", 1, None)]


def test_tries_end_within_about_an_hour(receivers, frozen):
    channel = make_channel()
    receivers.outcomes[channel.pk] = [Later("timeout", {"seconds": 10})]
    (delivery,) = post(channel)
    pauses = []
    for tries in range(1, MOST_TRIES + 1):
        due(delivery)
        assert delivering.deliveries_send() == 1
        if tries < MOST_TRIES:
            assert state(delivery) == ("waiting", tries, "timeout")
            pauses.append(delivery.due_at - frozen)
    assert state(delivery) == ("given_up", MOST_TRIES, "timeout")
    assert delivering.deliveries_send() == 0
    assert tuple(pauses) == PAUSES
    assert timedelta(minutes=45) < sum(PAUSES, timedelta()) < timedelta(minutes=75)
    assert Channel.objects.get(pk=channel.pk).disabled_at is None


@pytest.mark.parametrize(("after", "pause"), [(120, 120), (1, 10), (10**9, 3600), ("soon", 10), (None, 10)])
def test_a_receiver_may_ask_for_a_longer_pause(receivers, frozen, after, pause):
    channel = make_channel()
    receivers.outcomes[channel.pk] = [Later("status", {"status": 429, "after": after})]
    (delivery,) = post(channel)
    delivering.deliveries_send()
    delivery.refresh_from_db()
    assert delivery.due_at - frozen == timedelta(seconds=pause)


def test_what_is_old_has_one_try(receivers, frozen):
    channel = make_channel()
    receivers.outcomes[channel.pk] = [Later("timeout", {"seconds": 10})]
    (fresh,) = post(channel, at=frozen - OLDEST)
    (old,) = post(channel, at=frozen - OLDEST - timedelta(seconds=1))
    assert delivering.deliveries_send() == 2
    assert state(fresh) == ("waiting", 1, "timeout")
    assert state(old) == ("given_up", 1, "timeout")


def test_dead_channels_of_one_owner_do_not_take_every_sender(receivers, frozen):
    owner = make_user()
    for _ in range(8):
        post(make_channel(owner))
    (other,) = post(make_channel())
    claimed = [delivering.delivery_claim() for _ in range(4)]
    of = [one.channel.owner_id if one else None for one in claimed]
    assert of == [owner.pk] * MOST_AT_ONCE + [other.channel.owner_id, None]
    delivering.delivery_try(claimed[0])
    assert delivering.delivery_claim().channel.owner_id == owner.pk


def test_what_is_refused_is_not_tried_again_and_disables_after_three(receivers):
    owner = make_user()
    channel, other = make_channel(owner), make_channel()
    receivers.outcomes[channel.pk] = [Refused("status", {"status": 404})]
    deliveries = [post(channel)[0] for _ in range(5)]
    (fine,) = post(other)
    for _ in range(3):
        delivering.deliveries_send()
    assert [state(one) for one in deliveries[:3]] == [("refused", 1, "status")] * 3
    assert [state(one) for one in deliveries[3:]] == [("dropped", 0, "channel_disabled")] * 2
    assert state(fine)[0] == "sent"
    assert len(receivers.of(channel)) == 3
    channel.refresh_from_db()
    assert channel.refusals == 3
    assert channel.disabled_at is not None
    disabled = Notice.objects.get(key__contains=":disabled:")
    assert disabled.code == "channel_disabled"
    assert disabled.data["error"] == {"code": "status", "data": {"status": 404}}
    assert list(Reading.objects.filter(notice=disabled).values_list("user", flat=True)) == [owner.pk]
    assert not disabled.deliveries.exists()


def test_only_refusals_in_a_row_count(receivers):
    channel = make_channel()
    receivers.outcomes[channel.pk] = [Refused("a"), Refused("a"), Sent(), Refused("a"), Refused("a"), Sent()]
    for _ in range(6):
        post(channel)
    delivering.deliveries_send()
    channel.refresh_from_db()
    assert (channel.refusals, channel.disabled_at) == (0, None)
    assert len(receivers.of(channel)) == 6


def test_a_test_is_tried_once(receivers):
    channel = make_channel()
    receivers.outcomes[channel.pk] = [Later("timeout", {"seconds": 10})]
    (delivery,) = post(channel, code="test")
    delivering.deliveries_send()
    assert state(delivery) == ("given_up", 1, "timeout")


def test_tests_neither_disable_nor_excuse(receivers):
    channel = make_channel()
    receivers.outcomes[channel.pk] = [Refused("a"), Refused("a"), *[Refused("a")] * 5, Sent(), Refused("a")]
    post(channel)
    post(channel)
    delivering.deliveries_send()
    for _ in range(6):
        post(channel, code="test")
        delivering.deliveries_send()
    channel.refresh_from_db()
    assert (channel.refusals, channel.disabled_at) == (2, None)
    waiting = [post(channel)[0] for _ in range(3)]
    delivering.deliveries_send()
    assert [state(one)[::2] for one in waiting] == [
        ("refused", "a"),
        ("dropped", "channel_disabled"),
        ("dropped", "channel_disabled"),
    ]
    said = dict(told(Notice.objects.get(key__contains=":disabled:")).facts)
    assert said["Not sent"] == "5 notices"  # three that were refused, two that waited


def test_a_test_that_arrives_enables_the_channel(receivers):
    channel = make_channel(disabled_at=timezone.now(), refusals=3)
    (test,), (other,) = post(channel, code="test"), post(channel)
    delivering.deliveries_send()
    assert (state(test)[0], state(other)[0]) == ("sent", "dropped")
    channel.refresh_from_db()
    assert (channel.refusals, channel.disabled_at) == (0, None)


def test_a_deleted_channel_drops_what_was_on_its_way(receivers):
    channel = make_channel()
    (delivery,) = post(channel)
    channel.delete()
    assert delivering.deliveries_send() == 0
    assert state(delivery) == ("dropped", 0, "channel_deleted")
    assert delivery.channel_name == channel.name


def test_disabled_meanwhile_is_not_sent(receivers):
    channel = make_channel()
    (delivery,) = post(channel)
    Channel.objects.update(disabled_at=timezone.now())
    delivering.deliveries_send()
    assert state(delivery) == ("dropped", 1, "channel_disabled")
    assert receivers.sent == []


@pytest.mark.parametrize(
    ("owner_of", "shared", "arrives"), [(True, False, True), (False, False, False), (False, True, True)]
)
def test_who_has_left_the_team_hears_nothing_more(receivers, owner_of, shared, arrives):
    team = make_team()
    channel = make_channel(make_user(team) if owner_of else make_user(), team=team if shared else None)
    (delivery,) = post(channel, team=team.pk)
    delivering.deliveries_send()
    assert state(delivery)[0] == ("sent" if arrives else "dropped")
    assert bool(receivers.sent) == arrives


def test_what_is_another_teams_does_not_go_where_a_channel_was_shared_since(receivers):
    ours, theirs = make_team(), make_team()
    channel = make_channel(make_user(ours, theirs), team=theirs)
    (of_ours,), (of_theirs,) = post(channel, team=ours.pk), post(channel, team=theirs.pk)
    delivering.deliveries_send()
    assert (state(of_ours), state(of_theirs)) == (("dropped", 1, "shared_elsewhere"), ("sent", 1, None))
    assert len(receivers.of(channel)) == 1


@pytest.mark.parametrize(
    ("staff", "active", "shared", "subject", "arrives"),
    [
        (True, True, False, Subject.POOL, True),
        (False, True, False, Subject.POOL, False),
        (True, False, False, Subject.MACHINE, False),
        (False, True, True, Subject.MACHINE, True),
        (False, True, False, Subject.CHANNEL, True),
        (False, False, False, Subject.CHANNEL, False),
    ],
)
def test_who_is_no_administrator_any_more_hears_nothing_of_pools(
    receivers, monkeypatch, staff, active, shared, subject, arrives
):
    monkeypatch.setattr(delivering, "told", lambda notice, log: None)
    owner = make_user(is_staff=staff, is_active=active)
    channel = make_channel(owner, team=make_team() if shared else None)
    (delivery,) = post(channel, subject=subject, subject_id=1)
    delivering.deliveries_send()
    assert state(delivery)[::2] == (("sent", None) if arrives else ("dropped", "owner_left"))


def test_an_error_of_ours_is_tried_again_and_keeps_nobody_waiting(receivers):
    broken, fine = make_channel(), make_channel()
    receivers.outcomes[broken.pk] = [RuntimeError("a bug")]
    (one,), (two,) = post(broken), post(fine)
    delivering.deliveries_send()
    assert state(one) == ("waiting", 1, "internal")
    assert state(two)[0] == "sent"


@pytest.mark.parametrize(
    ("of_channel", "of_owner", "title"),
    [("zh-hans", "en", "渠道已停用"), ("", "zh-hans", "渠道已停用"), ("en", "zh-hans", "Channel disabled")],
)
def test_it_is_told_in_the_channels_language_or_the_owners(receivers, chinese, of_channel, of_owner, title):
    channel = make_channel(make_user(language=of_owner), language=of_channel)
    post(channel)
    with translation.override("en"):
        delivering.deliveries_send()
    assert receivers.sent[0][2].title.startswith(title)


def test_a_claim_that_was_lost_is_due_again_when_its_lease_ends(receivers, settings, frozen):
    channel = make_channel()
    first, second = (post(channel)[0] for _ in range(2))
    claimed = delivering.delivery_claim()
    assert claimed.delivery.pk == first.pk
    assert delivering.deliveries_send() == 0  # neither this one nor another one of the channel
    assert claimed.delivery.due_at == frozen + timedelta(seconds=settings.ALERT_LEASE_SECONDS)
    Channel.objects.update(busy_until=timezone.now())
    due(first)
    assert delivering.deliveries_send() == 2
    assert [state(first), state(second)] == [("sent", 2, None), ("sent", 1, None)]
    delivering.delivery_try(claimed)  # whoever was thought dead comes back: what it says counts no more
    assert state(first) == ("sent", 2, None)


def test_a_slow_channel_holds_up_itself_alone(receivers):
    slow, others = make_channel(), [make_channel() for _ in range(3)]
    for _ in range(5):
        post(slow)
    fine = [post(channel)[0] for channel in others]
    assert delivering.delivery_claim().channel == slow  # somebody is at it and does not come back
    assert delivering.deliveries_send() == 3
    assert {state(one)[0] for one in fine} == {"sent"}


def test_channels_take_turns(receivers):
    crowded, quiet = make_channel(), make_channel()
    for _ in range(4):
        post(crowded)
    post(quiet)
    post(quiet)
    delivering.deliveries_send()
    assert [pk for pk, _key, _told in receivers.sent] == [
        *(crowded.pk, quiet.pk, crowded.pk, quiet.pk, crowded.pk, crowded.pk)
    ]


def test_one_task_sends_a_bounded_number(receivers, monkeypatch):
    monkeypatch.setattr(delivering, "MOST_SENT", 3)
    channel = make_channel()
    for _ in range(5):
        post(channel)
    assert [delivering.deliveries_send() for _ in range(3)] == [3, 2, 0]


@pytest.mark.django_db(transaction=True)
def test_several_senders_send_each_once(receivers):
    channels, senders = [make_channel() for _ in range(4)], 6
    for _ in range(5):
        post(*channels)
    start = Barrier(senders)

    def work():
        start.wait()
        try:
            for _ in range(20):
                delivering.deliveries_send()
        finally:
            connection.close()

    threads = [Thread(target=work) for _ in range(senders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(Delivery.objects.values_list("state", "tries")) == {("sent", 1)}
    for channel in channels:
        assert len(receivers.of(channel)) == len(set(receivers.of(channel))) == 5
