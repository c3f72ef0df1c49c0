"""Rules with a time limit: one notice for a stay in a state, however often somebody looks."""

from datetime import UTC, datetime, timedelta

import pytest

from alerts.models import Notice, Reading, Rule
from alerts.rules import Subject
from alerts.subjects import told as told_words
from jobs.findings import Reason
from jobs.lifecycle import move, restart
from jobs.models import Job
from jobs.overdue import rules_look
from jobs.scheduling import queue_cycle
from jobs.states import State
from jobs.tasks import notices_tick
from pools.models import Pool
from tests.alerts.made import make_channel, make_rule
from tests.factories import make_job, make_pool, make_team, make_user

pytestmark = pytest.mark.django_db

BEGIN = datetime(2026, 3, 1, 8, tzinfo=UTC)
STUCK = Reason("exit_code", {"rank": 0, "exit_code": 1})


class Clock:
    def __init__(self):
        self.now = BEGIN

    def goes(self, minutes):
        self.now += timedelta(minutes=minutes)


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr("django.utils.timezone.now", lambda: found.now)
    return found


@pytest.fixture
def user():
    return make_user(make_team())


@pytest.fixture
def pool(user):
    return make_pool(user.memberships.get().team)


@pytest.fixture
def job(clock, user, pool):
    return make_job(user, pool, auto_restart=True, max_restarts=3)


def watch(job, event, minutes, *more, channel=None, look_in=None):
    look_at = BEGIN + timedelta(minutes=minutes if look_in is None else look_in)
    channel = channel or make_channel(job.creator)
    return make_rule(channel, Subject.JOB, job.pk, event, *more, minutes=minutes, look_at=look_at)


def look_each_minute(clock, minutes):
    for _ in range(minutes):
        clock.goes(1)
        notices_tick()


def told():
    return [(n.code, n.data["attempt"]) for n in Notice.objects.exclude(data__has_key="event").order_by("pk")]


def test_a_wait_over_the_limit_is_told_once_in_five_looks(clock, job):
    rule = watch(job, "queued_too_long", 30)
    for n in range(5):
        clock.goes(30)
        Rule.objects.update(look_at=clock.now)  # whatever makes it be looked at again
        rules_look()
        assert told() == [("queued_too_long", 0)], n
    assert rule.channel.deliveries.count() == 1
    notice = Notice.objects.get()
    assert notice.data["minutes"] == 30
    said = told_words(notice)
    assert said.title == f"Waits longer than 30 min: {job.name}"
    assert said.text == "Place 1 in the queue."  # and no reason: the next look at the queue starts it
    assert Reading.objects.get().user == job.creator


def test_it_is_told_why_the_job_waits(clock, user, job, pool):
    Pool.objects.update(paused=True)
    younger = make_job(user, pool)
    watch(younger, "queued_too_long", 30)
    clock.goes(30)
    rules_look()
    assert told_words(Notice.objects.get()).text == "Place 2 in the queue. The resource pool is paused."


def test_it_is_told_in_the_minute_when_the_limit_has_passed(clock, job):
    watch(job, "queued_too_long", 30)
    look_each_minute(clock, 29)
    assert told() == []
    look_each_minute(clock, 1)
    assert told() == [("queued_too_long", 0)]


def test_a_job_that_starts_in_time_is_none(clock, job, pool):
    watch(job, "queued_too_long", 30)
    look_each_minute(clock, 20)
    queue_cycle(pool.pk)
    look_each_minute(clock, 60)
    assert told() == []


def test_each_wait_and_each_run_counts_for_itself(clock, job, pool):
    watch(job, "queued_too_long", 30)
    watch(job, "deploying_too_long", 10)
    watch(job, "running_too_long", 60)
    look_each_minute(clock, 40)
    queue_cycle(pool.pk)
    look_each_minute(clock, 15)
    move([job.pk], State.DEPLOYING, State.RUNNING)
    look_each_minute(clock, 70)
    restart(job.pk, State.RUNNING, reason=STUCK, pause=timedelta())
    look_each_minute(clock, 20)
    assert told() == [("queued_too_long", 0), ("deploying_too_long", 1), ("running_too_long", 1)]
    look_each_minute(clock, 12)
    queue_cycle(pool.pk)
    move([job.pk], State.DEPLOYING, State.RUNNING)
    look_each_minute(clock, 130)
    assert told()[3:] == [("queued_too_long", 1), ("running_too_long", 2)]
    move([job.pk], State.RUNNING, State.SUCCEEDED)
    look_each_minute(clock, 60)
    assert set(Rule.objects.values_list("look_at", flat=True)) == {None}


def test_two_channels_with_one_limit_are_one_notice(clock, job):
    first, second = watch(job, "queued_too_long", 30), watch(job, "queued_too_long", 30, look_in=33)
    other = watch(job, "queued_too_long", 45, "failed")
    look_each_minute(clock, 60)
    assert Notice.objects.count() == 2
    assert [rule.channel.deliveries.count() for rule in (first, second, other)] == [1, 1, 1]
    assert other.channel.deliveries.get().notice.data["minutes"] == 45


def test_a_private_channel_tells_what_its_owner_asked_for_alone(clock, job):
    rule = watch(job, "queued_too_long", 30, channel=make_channel(make_user()))
    Rule.objects.update(author=job.creator)
    clock.goes(31)
    rules_look()
    assert (Notice.objects.count(), rule.channel.deliveries.count()) == (1, 0)


def test_a_channel_that_comes_later_is_told_in_the_same_stay(clock, job):
    first = watch(job, "queued_too_long", 30)
    clock.goes(30)
    rules_look()
    second = watch(job, "queued_too_long", 30, look_in=40)
    clock.goes(10)
    rules_look()
    clock.goes(30)
    rules_look()
    assert told() == [("queued_too_long", 0)]
    assert [rule.channel.deliveries.count() for rule in (first, second)] == [1, 1]


def test_nothing_is_told_of_trials_and_of_jobs_that_are_gone(clock, job):
    watch(job, "queued_too_long", 5)
    Job.objects.update(draft="a form")
    make_rule(make_channel(), Subject.JOB, 10**9, "queued_too_long", minutes=5, look_at=BEGIN)
    look_each_minute(clock, 10)
    assert told() == []
    assert set(Rule.objects.values_list("look_at", flat=True)) == {None}


def test_one_look_takes_few_statements(clock, user, pool, django_assert_max_num_queries):
    jobs = [make_job(user, pool) for _ in range(20)]
    for job in jobs:
        watch(job, "queued_too_long", 5)
    clock.goes(6)
    with django_assert_max_num_queries(25):
        assert rules_look() == 20
    notices = Notice.objects.order_by("subject_id")
    assert [notice.data["place"] for notice in notices] == list(range(1, 21))
    assert rules_look() == 0
