"""Posting notices: each once, whoever else does, with those who hear of it."""

from threading import Barrier, Thread

import pytest
from django.db import connection

from alerts.models import Delivery, Notice, Reading
from alerts.rules import Subject
from alerts.services import notices_post
from tests.alerts.made import make_channel, make_rule, notice
from tests.factories import make_team, make_user

pytestmark = pytest.mark.django_db


def test_a_notice_has_its_readings_and_deliveries():
    user, channel, other = make_user(), make_channel(), make_channel()
    make_rule(other, Subject.JOB, 7, "failed", "running")
    make_rule(make_channel(), Subject.JOB, 8, "failed")
    make_rule(make_channel(), Subject.JOB, 7, "succeeded")
    new = notice(channel, code="failed", subject=Subject.JOB, subject_id=7, readers=(user.pk, user.pk))
    assert notices_post([new]) == 1
    posted = Notice.objects.get()
    assert (posted.key, posted.codes, posted.data) == (new.key, ["failed"], new.data)
    assert list(Reading.objects.values_list("user", flat=True)) == [user.pk]
    told = Delivery.objects.order_by("pk").values_list("channel", "state", "channel_name")
    assert list(told) == [(c.pk, "waiting", c.name) for c in (channel, other)]


def test_a_rule_of_a_job_tells_only_where_the_channel_still_may_be_told():
    team, other = make_team(), make_team()
    alice, mate = make_user(team, other), make_user(team)
    told = make_rule(make_channel(alice), Subject.JOB, 7, "failed", author=alice)
    make_rule(make_channel(alice), Subject.JOB, 7, "failed", author=mate)
    make_rule(make_channel(alice), Subject.JOB, 7, "failed", author=None)
    shared = make_rule(make_channel(alice, team=team), Subject.JOB, 7, "failed", author=mate)
    make_rule(make_channel(alice, team=other), Subject.JOB, 7, "failed", author=alice)
    notices_post([notice(code="failed", subject=Subject.JOB, subject_id=7, team=team.pk)])
    assert set(Delivery.objects.values_list("channel", flat=True)) == {told.channel_id, shared.channel_id}


def test_one_of_which_nobody_hears_is_not_kept():
    assert notices_post([notice()]) == 0
    assert not Notice.objects.exists()


def test_the_same_key_again_is_nothing_new():
    channel = make_channel()
    assert notices_post([notice(channel, key="once"), notice(channel, key="twice")]) == 2
    assert notices_post([notice(channel, key="twice"), notice(channel, key="thrice")]) == 1
    assert notices_post([notice(channel, key="once")]) == 0
    assert (Notice.objects.count(), Delivery.objects.count()) == (3, 3)


def test_a_rule_for_all_pools_and_one_for_this_are_one_delivery():
    channel = make_channel()
    make_rule(channel, Subject.POOL, None, "node_down")
    make_rule(channel, Subject.POOL, 3, "node_down", "node_drained")
    assert notices_post([notice(code="node_down", subject=Subject.POOL, subject_id=3)]) == 1
    assert Delivery.objects.get().channel == channel


@pytest.mark.parametrize(("code", "state"), [("channel_disabled", "dropped"), ("test", "waiting")])
def test_a_disabled_channel_gets_tests_alone(code, state):
    channel = make_channel(disabled_at="2026-01-01T00:00:00Z")
    notices_post([notice(channel, code=code)])
    delivery = Delivery.objects.get()
    assert delivery.state == state
    assert (delivery.due_at is None) == (state == "dropped")


def test_many_take_as_many_statements_as_a_few(django_assert_max_num_queries):
    channel, user = make_channel(), make_user()
    make_rule(channel, Subject.JOB, None, "failed")

    def many(n):
        return [
            notice(code="failed", subject=Subject.JOB, subject_id=i, readers=(user.pk,)) for i in range(n)
        ]

    with django_assert_max_num_queries(8):
        assert notices_post(many(30)) == 30
    with django_assert_max_num_queries(60):  # SQLite takes fewer rows in a statement
        assert notices_post(many(2000)) == 2000
    assert Delivery.objects.count() == Reading.objects.count() == 2030


@pytest.mark.django_db(transaction=True)
def test_of_several_who_post_the_same_at_the_same_time_one_does():
    channel, user, posters = make_channel(), make_user(), 4
    new = [notice(channel, key=f"key {n:03}", readers=(user.pk,)) for n in range(60)]
    posted, start = [], Barrier(posters)

    def post_them(mine):
        start.wait()
        try:
            posted.append(notices_post(mine))
        finally:
            connection.close()

    threads = [Thread(target=post_them, args=(new if n % 2 else new[::-1],)) for n in range(posters)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(posted), sum(posted)) == (posters, 60)
    assert Notice.objects.count() == Reading.objects.count() == Delivery.objects.count() == 60
