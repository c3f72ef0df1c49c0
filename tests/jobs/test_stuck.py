"""Queues in which something could start and nothing does."""

import pytest

from alerts.models import Mark, Notice
from alerts.rules import Subject
from alerts.subjects import told
from jobs.scheduling import queue_cycle
from jobs.stuck import queues_watch
from pools.models import Pool
from tests.alerts.made import make_channel, make_rule
from tests.factories import make_job, make_pool, make_team, make_user, occupy
from tests.jobs.test_overdue import clock  # noqa: F401  # the fixture

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    return make_user(make_team(), is_staff=True)


@pytest.fixture
def pool(user):
    return make_pool(user.memberships.get().team, nodes=2)


@pytest.fixture
def channel(user, pool):
    channel = make_channel(user)
    make_rule(channel, Subject.POOL, None, "queue_stuck", minutes=10)
    return channel


def look_each_minute(clock, minutes):  # noqa: F811
    notices = []
    for _ in range(minutes):
        clock.goes(1)
        notices.append(queues_watch())
    return notices


def test_it_is_told_once_when_the_limit_has_passed(clock, user, pool, channel):  # noqa: F811
    make_rule(make_channel(user), Subject.POOL, pool.pk, "queue_stuck", minutes=10)
    make_rule(make_channel(user), Subject.POOL, pool.pk + 1, "queue_stuck", minutes=1)
    make_rule(make_channel(user), Subject.POOL, pool.pk, "node_down")
    later = make_channel(user)
    make_rule(later, Subject.POOL, pool.pk, "queue_stuck", minutes=15)
    make_job(user, pool)
    assert look_each_minute(clock, 10) == [0] * 10
    assert look_each_minute(clock, 20) == [1, *[0] * 4, 1, *[0] * 14]
    first, second = Notice.objects.order_by("pk")
    assert (first.deliveries.count(), second.deliveries.get().channel) == (2, later)
    text = told(first).text
    assert text == "A job waits that could start, and nothing starts."


def test_a_queue_that_moves_is_not_stuck(clock, user, pool, channel):  # noqa: F811
    for _ in range(5):
        make_job(user, pool)
        look_each_minute(clock, 8)
        queue_cycle(pool.pk)
        make_job(user, pool)
    assert not Notice.objects.exists()


def test_after_a_start_it_counts_anew_and_is_told_anew(clock, user, pool, channel):  # noqa: F811
    for _ in range(2):
        make_job(user, pool)
        assert sum(look_each_minute(clock, 15)) == 1
        queue_cycle(pool.pk)
        clock.goes(1)
        assert queues_watch() == 0
        assert not Mark.objects.exists()


def test_what_cannot_start_is_not_stuck(clock, user, pool, channel):  # noqa: F811
    occupy(pool, [8, 8])
    make_job(user, pool)
    assert sum(look_each_minute(clock, 15)) == 0


def test_a_paused_pool_is_not_stuck(clock, user, pool, channel):  # noqa: F811
    Pool.objects.update(paused=True)
    make_job(user, pool)
    assert sum(look_each_minute(clock, 15)) == 0


def test_room_that_was_there_for_a_moment_does_not_count(clock, user, pool, channel):  # noqa: F811
    make_job(user, pool)
    look_each_minute(clock, 9)
    Pool.objects.update(paused=True)
    look_each_minute(clock, 1)
    Pool.objects.update(paused=False)
    assert sum(look_each_minute(clock, 9)) == 0
