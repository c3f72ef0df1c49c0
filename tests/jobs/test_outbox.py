"""What is told of the events of jobs: which, how often, and to whom."""

from datetime import timedelta
from threading import Barrier, Thread

import pytest
from django.db import connection

from alerts.models import Delivery, Notice, Reading
from alerts.rules import JOB_EVENTS, Subject
from jobs import outbox, overdue
from jobs.findings import Reason
from jobs.lifecycle import event, events, move, restart
from jobs.models import Attempt, Job, JobEvent
from jobs.outbox import MOST_BATCHES, MOST_TOLD, events_tell
from jobs.scheduling import queue_cycle
from jobs.services import job_stop
from jobs.states import State
from jobs.tasks import notices_tick
from tests.alerts.made import make_channel, make_rule
from tests.factories import make_job, make_pool, make_team, make_user

pytestmark = pytest.mark.django_db

FAILED = Reason("exit_code", {"rank": 1, "exit_code": 3})


@pytest.fixture
def team():
    return make_team()


@pytest.fixture
def user(team):
    return make_user(team)


@pytest.fixture
def pool(team):
    return make_pool(team, nodes=8)


@pytest.fixture
def channel(user):
    return make_channel(user)


def ask(channel, job, *names):
    return make_rule(channel, Subject.JOB, job.pk, *(names or JOB_EVENTS))


def run(job):
    """Places a job and lets it run."""
    queue_cycle(job.pool_id)
    move([job.pk], State.DEPLOYING, State.RUNNING)


def codes(channel):
    """What the channel is told, in the order of the events."""
    return [d.notice.code for d in channel.deliveries.select_related("notice").order_by("notice__at")]


def test_each_event_is_told_once(user, pool, channel):
    job = make_job(user, pool)
    ask(channel, job)
    run(job)
    move([job.pk], State.RUNNING, State.SUCCEEDED)
    for _ in range(3):
        notices_tick()
    assert codes(channel) == ["running", "succeeded"]
    assert not JobEvent.objects.filter(to_tell=True).exists()
    assert list(Reading.objects.values_list("user", "notice__codes")) == [(user.pk, ["succeeded"])]


def test_thirty_jobs_that_end_at_once_are_thirty_notices(user, pool, channel):
    jobs = [make_job(user, pool) for _ in range(30)]
    for job in jobs:
        ask(channel, job, "succeeded", "failed")
    queue_cycle(pool.pk)
    ids = [job.pk for job in jobs]
    move(ids, State.DEPLOYING, State.RUNNING)
    move(ids, State.RUNNING, State.SUCCEEDED)
    notices_tick()
    assert sorted(channel.deliveries.values_list("notice__subject_id", flat=True)) == ids


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("failed",), ["failed"]),
        (("failed", "restarted"), ["restarted"] * 3 + ["failed"]),
        (("restarts_used_up",), ["failed"]),
        (("failed", "restarts_used_up"), ["failed"]),
        (("succeeded", "running_too_long"), []),
    ],
)
def test_a_job_that_fails_with_three_restarts(user, pool, channel, asked, told):
    job = make_job(user, pool, auto_restart=True, max_restarts=3)
    ask(channel, job, *asked)
    for _ in range(3):
        run(job)
        assert restart(job.pk, State.RUNNING, reason=FAILED, pause=timedelta())
        notices_tick()
    run(job)
    move([job.pk], State.RUNNING, State.FAILED, reason=FAILED, restarts_used_up=3)
    notices_tick()
    assert codes(channel) == told
    assert list(Reading.objects.values_list("notice__codes", flat=True)) == [["failed", "restarts_used_up"]]


def test_a_failure_tells_what_happened(user, pool, channel):
    job = make_job(user, pool, workers=2)
    ask(channel, job, "failed")
    run(job)
    failure = {"rank": 1, "exit_code": 3, "signal": None}
    Attempt.objects.update(first_failure=failure)
    move([job.pk], State.RUNNING, State.FAILED, reason=FAILED)
    Job.objects.update(exit_code=3)
    notices_tick()
    notice = Notice.objects.get()
    assert (notice.subject, notice.subject_id, notice.team) == ("job", job.pk, job.team)
    assert notice.data == {
        "name": job.name,
        "key": job.key,
        "state": "failed",
        "pool": pool.name,
        "team": job.team.name,
        "creator": user.username,
        "attempt": 1,
        "event": {"reason": FAILED.as_json()},
        "exit_code": 3,
        "first_failure": failure,
    }
    assert notice.key == f"event:{JobEvent.objects.get(code='failed').pk}"


def test_the_attempt_is_the_one_in_which_it_happened(user, pool, channel):
    job = make_job(user, pool, auto_restart=True, max_restarts=3)
    ask(channel, job)
    for _ in range(2):
        run(job)
        restart(job.pk, State.RUNNING, reason=FAILED, pause=timedelta())
    run(job)
    notices_tick()
    told = [(n.code, n.data["attempt"]) for n in Notice.objects.order_by("at")]
    assert told == [("running", 1), ("restarted", 1), ("running", 2), ("restarted", 2), ("running", 3)]


@pytest.mark.parametrize(("mine", "readers"), [(True, 0), (False, 1)])
def test_a_stop_is_news_to_the_creator_if_somebody_else_did_it(team, user, pool, channel, mine, readers):
    job = make_job(user, pool)
    ask(channel, job, "stopped")
    job_stop(job=job, actor=user if mine else make_user(team, admin=True))
    notices_tick()
    assert codes(channel) == ["stopped"]
    assert Reading.objects.filter(user=user).count() == readers


def test_a_limit_that_stops_a_job_is_news(user, pool):
    job = make_job(user, pool)
    move([job.pk], State.QUEUED, State.STOPPED, reason=Reason("queue_timeout", {"minutes": 1}))
    notices_tick()
    assert Reading.objects.get().user == user


@pytest.mark.parametrize(
    ("code", "read"),
    [
        ("hang_suspected", True),
        ("hang", True),
        ("node_fault", True),
        ("env_check_failed", True),
        ("priority_changed", None),
        ("worker_failed", None),
    ],
)
def test_what_else_a_creator_hears_of(user, pool, code, read):
    job = make_job(user, pool)
    event(job.pk, code, seconds=30)
    notices_tick()
    assert Reading.objects.exists() == bool(read)


def test_a_failed_environment_check_is_told_once_a_job(user, pool, channel):
    jobs = [make_job(user, pool) for _ in range(2)]
    for job in jobs:
        ask(channel, job, "env_check_failed")
    for _ in range(2):
        events([job.pk for job in jobs], "env_check_failed", rank=0, node="n")
        notices_tick()
    assert sorted(channel.deliveries.values_list("notice__subject_id", flat=True)) == [j.pk for j in jobs]
    assert not JobEvent.objects.filter(to_tell=True).exists()


def test_of_a_trial_run_nothing_is_told(user, pool, channel):
    job = make_job(user, pool)
    Job.objects.update(draft="a form")
    ask(channel, job)
    run(job)
    move([job.pk], State.RUNNING, State.FAILED, reason=FAILED)
    notices_tick()
    assert not Notice.objects.exists()
    assert not JobEvent.objects.filter(to_tell=True).exists()


def test_a_creator_who_left_the_team_hears_nothing(user, pool):
    job = make_job(user, pool)
    user.memberships.all().delete()
    move([job.pk], State.QUEUED, State.FAILED, reason=FAILED)
    notices_tick()
    assert not Reading.objects.exists()


def test_one_call_is_bounded_and_takes_few_statements(user, pool, channel, django_assert_max_num_queries):
    job = make_job(user, pool)
    ask(channel, job, "running")
    most = MOST_TOLD * MOST_BATCHES
    JobEvent.objects.bulk_create(
        [JobEvent(job=job, at=job.created_at, code="running", to_tell=True) for _ in range(most + 7)]
    )
    with django_assert_max_num_queries(25 * MOST_BATCHES):
        assert events_tell() == most
    assert events_tell() == 7
    assert events_tell() == 0
    assert Delivery.objects.count() == most + 7


@pytest.mark.django_db(transaction=True)
def test_several_who_tell_at_once_tell_each_once(user, pool, channel):
    jobs = [make_job(user, pool) for _ in range(10)]
    for job in jobs:
        ask(channel, job)
    queue_cycle(pool.pk)
    move([job.pk for job in jobs], State.DEPLOYING, State.RUNNING)
    move([job.pk for job in jobs], State.RUNNING, State.FAILED, reason=FAILED)
    start, told = Barrier(4), []

    def tell():
        start.wait()
        try:
            told.append(events_tell())
        finally:
            connection.close()

    threads = [Thread(target=tell) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(told), sum(told)) == (4, 20)
    assert Notice.objects.count() == channel.deliveries.count() == 20


def test_an_event_of_which_nothing_can_be_told_holds_up_no_other(user, pool, channel, monkeypatch, caplog):
    jobs = [make_job(user, pool) for _ in range(3)]
    for job in jobs:
        make_rule(channel, Subject.JOB, job.pk, "stopped")
    move([job.pk for job in jobs], State.QUEUED, State.STOPPED, reason=Reason("stopped_by_user", {}))
    plain = outbox.job_data
    broken = jobs[1].pk

    def data(job):
        if job.pk == broken:
            raise ValueError("broken")
        return plain(job)

    monkeypatch.setattr(outbox, "job_data", data)
    notices_tick()
    assert set(Notice.objects.values_list("subject_id", flat=True)) == {jobs[0].pk, jobs[2].pk}
    assert not JobEvent.objects.filter(to_tell=True).exists()
    lost = JobEvent.objects.get(job=broken, code="stopped")
    assert f"event {lost.pk} cannot be told of" in caplog.text


def test_limits_are_looked_at_though_telling_fails(monkeypatch, caplog):
    called = []

    def fails():
        raise RuntimeError("broken")

    monkeypatch.setattr(outbox, "events_tell", fails)
    monkeypatch.setattr(overdue, "rules_look", lambda: called.append(1))
    notices_tick()
    assert called == [1]
    assert "broken" in caplog.text
