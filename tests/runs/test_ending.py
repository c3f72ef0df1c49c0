"""Many attempts that ended alike are ended together, with all that one alone would have brought."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from jobs.models import Attempt, Job, JobEvent, Worker
from jobs.scheduling import queue_cycle
from jobs.services import job_stop
from pools.models import Hold
from pools.services import pool_lock
from runs import ending, watching
from runs.launching import attempt_key
from tests.factories import make_job, make_pool
from tests.runs.stand_in import START, codes, exited, running

pytestmark = pytest.mark.django_db


@pytest.fixture
def jobs(user, engine):
    """Makes running jobs."""
    pool = make_pool(user.memberships.get().team, nodes=8)

    def make(count, workers=1, **fields):
        made = [make_job(user, pool, workers=workers, **fields) for _ in range(count)]
        queue_cycle(pool.pk)
        for job in made:
            job.refresh_from_db()
            engine.looks[attempt_key(job)] = tuple(running(rank) for rank in range(workers))
        watching.attend()
        return made

    return make


@pytest.fixture
def alone(monkeypatch):
    """The jobs that were attended alone."""
    seen, attend_alone = [], watching._attend_alone
    monkeypatch.setattr(
        watching,
        "_attend_alone",
        lambda engine, pk, *more: (seen.append(pk), attend_alone(engine, pk, *more)),
    )
    return seen


def end(engine, jobs, *looks):
    for job in jobs:
        engine.looks[attempt_key(job)] = looks


def told(job):
    """Everything that an end leaves behind, without ids and the moment of writing."""
    job.refresh_from_db()
    attempt = job.attempts.get()
    return (
        (job.state, job.exit_code, job.reason, job.ended_at, job.deploy_step, codes(job)),
        (attempt.ended_at, attempt.first_failure, attempt.started_at, attempt.deployment),
        list(attempt.workers.values_list("rank", "exit_code", "signal", "started_at", "ended_at")),
        [event.data for event in job.events.all()],
    )


@pytest.mark.parametrize(
    "looks",
    [
        [exited(0)],
        [exited(0, code=3)],
        [exited(0), exited(1)],
        [exited(0, code=0), exited(1, code=9)],
    ],
)
def test_together_is_as_alone(engine, jobs, alone, monkeypatch, looks):
    together, single = jobs(5, workers=len(looks)), jobs(1, workers=len(looks))
    end(engine, together, *looks)
    alone.clear()
    watching.attend()
    assert alone == []
    monkeypatch.setattr(ending, "plain_ends", lambda sights: [])
    end(engine, single, *looks)
    watching.attend()
    assert alone == [single[0].pk]
    assert {repr(told(job)) for job in together} == {repr(told(single[0]))}
    assert told(single[0])[0][0] in ("succeeded", "failed")
    assert not Hold.objects.exists()
    call_command("recount", stdout=StringIO())


def test_a_stop_that_came_meanwhile_is_judged_alone(engine, jobs, alone, monkeypatch):
    one, other = jobs(2)
    end(engine, [one, other], exited(0))

    def lock(**pool):
        Job.objects.filter(pk=other.pk).update(stop_requested_at=datetime.fromtimestamp(START, UTC))
        return pool_lock(**pool)

    monkeypatch.setattr(ending, "pool_lock", lock)
    alone.clear()
    watching.attend()
    assert alone == [other.pk]
    assert [told(job)[0][0] for job in (one, other)] == ["succeeded", "stopped"]


def test_different_ends_are_told_apart(engine, jobs):
    good, bad, worse = jobs(3)
    end(engine, [good], exited(0))
    end(engine, [bad], exited(0, code=3))
    end(engine, [worse], exited(0, code=4))
    watching.attend()
    assert [told(job)[0][:2] for job in (good, bad, worse)] == [
        ("succeeded", 0),
        ("failed", 3),
        ("failed", 4),
    ]


def test_what_needs_more_than_an_end_goes_alone(engine, jobs, alone):
    (again,) = jobs(1, auto_restart=True, max_restarts=2)
    (asked,) = jobs(1)
    (half,) = jobs(1, workers=2)
    Job.objects.filter(pk=asked.pk).update(stop_requested_at=timezone.now())
    end(engine, [again], exited(0, code=3))
    end(engine, [asked], exited(0))
    end(engine, [half], exited(0, code=3), running(1))
    alone.clear()
    watching.attend()
    assert sorted(alone) == sorted([again.pk, asked.pk, half.pk])
    assert [told(job)[0][0] for job in (again, half)] == ["queued", "running"]


def test_a_job_that_moved_on_since_the_look_is_left_alone(engine, jobs, monkeypatch):
    moved, other = jobs(2)
    end(engine, [moved, other], exited(0))
    current = ending._current

    def meanwhile(batch):
        Job.objects.filter(pk=moved.pk).update(attempt=2)
        return current(batch)

    monkeypatch.setattr(ending, "_current", meanwhile)
    watching.attend([moved.pk, other.pk])
    assert Job.objects.get(pk=other.pk).state == "succeeded"
    assert Job.objects.get(pk=moved.pk).state == "running"
    assert Attempt.objects.get(job=moved.pk).ended_at is None
    assert Worker.objects.get(attempt__job=moved.pk).ended_at is None


def test_a_second_look_at_the_same_end_writes_nothing(engine, jobs):
    ended = jobs(3)
    end(engine, ended, exited(0, code=5))
    sights = watching._sights(engine, Job.objects.placed().light().select_related("pool"))
    watching.attend()
    events = JobEvent.objects.count()
    for batch in ending.batches(ending.plain_ends(sights)):
        assert ending.end_together(batch) == []
    assert JobEvent.objects.count() == events
    assert [codes(job).count("worker_failed") for job in ended] == [1, 1, 1]


def test_a_failure_that_was_told_before_is_not_told_again(engine, jobs):
    (job,) = jobs(1, workers=2)
    end(engine, [job], exited(0, code=3), running(1))
    watching.attend()
    end(engine, [job], exited(0, code=3), exited(1, code=0))
    watching.attend()
    job.refresh_from_db()
    assert (job.state, codes(job).count("worker_failed")) == ("failed", 1)


def test_trouble_with_all_together_leaves_each_to_itself(engine, jobs, alone, monkeypatch):
    ended = jobs(2)
    end(engine, ended, exited(0))

    def broken(batch):
        raise RuntimeError("no")

    monkeypatch.setattr(ending, "end_together", broken)
    alone.clear()
    watching.attend()
    assert sorted(alone) == sorted(job.pk for job in ended)
    assert {told(job)[0][0] for job in ended} == {"succeeded"}


def test_the_cost_is_one_of_batches(engine, jobs, django_assert_max_num_queries):
    ended = jobs(40)
    end(engine, ended, exited(0))
    with django_assert_max_num_queries(40):
        watching.attend()
    assert Job.objects.filter(state="succeeded", started_at__isnull=False).count() == 40
    assert Attempt.objects.filter(started_at__isnull=True).count() == 0
    assert Worker.objects.first().started_at.timestamp() == START


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
def test_two_who_end_and_one_who_stops_bring_one_end_each(engine, jobs, user):
    for _ in range(10):
        ended = jobs(6)
        end(engine, ended, exited(0, code=3))
        with ThreadPoolExecutor(3) as threads:
            work = [watching.attend, watching.attend, partial(stop_each, ended, user)]
            for done in [threads.submit(closing, act) for act in work]:
                done.result(timeout=60)
        for job in ended:
            watching.attend()
            assert told(job)[0][0] == "failed"
            assert [codes(job).count(code) for code in ("worker_failed", "failed", "stopped")] == [1, 1, 0]
    assert not Hold.objects.exists()
    call_command("recount", stdout=StringIO())


def stop_each(jobs, user):
    for job in jobs:
        job_stop(job=job, actor=user)


def closing(act):
    """Does something in a thread whose connection is closed afterwards."""
    try:
        act()
    finally:
        connection.close()
