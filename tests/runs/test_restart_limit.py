"""The limit of automatic restarts, the pauses between them and the counter, from the first failure to the
last. The clock is set by the test; nothing but database and processes is there after `services_restart`."""

from datetime import timedelta
from itertools import pairwise

import pytest
from django.utils import timezone

from jobs.models import Attempt, Job
from jobs.scheduling import queue_tick
from jobs.services import job_stop
from runs import watching
from runs.launching import attempt_key
from tests.factories import make_job, make_pool
from tests.runs.stand_in import StandIn, codes, exited, running

pytestmark = pytest.mark.django_db
FAILED = {"exit": exited(code=1), "syntax error": exited(code=2), "kill -9": exited(code=137, signal=9)}


class Services:
    """Ticks of queue and engines, each with a look at how the command of the current attempt ends."""

    def __init__(self, engine, monkeypatch):
        self.engine, self.monkeypatch = engine, monkeypatch
        self.now = timezone.now()
        monkeypatch.setattr("django.utils.timezone.now", lambda: self.now)

    def restart(self):
        """Everything in memory is gone."""
        watching._attended.clear()
        fresh = StandIn()
        fresh.looks = self.engine.looks
        fresh.launches = self.engine.launches
        self.engine = fresh
        self.monkeypatch.setattr(watching, "engine_of", lambda kind: fresh)

    def tick(self, job, seconds=0.0):
        self.now += timedelta(seconds=seconds)
        queue_tick()
        watching.attend()
        job.refresh_from_db()

    def fails(self, job, look):
        """The next attempt starts as soon as it may, and not before, and ends so; answers when it began."""
        if job.attempt:
            self.now = job.eligible_at - timedelta(seconds=1)
            self.tick(job)
            assert job.state == "queued"
            self.now += timedelta(seconds=1)
        self.tick(job)
        began = self.now
        for seen in (running(), look):
            self.engine.looks[attempt_key(job)] = (seen,)
            self.tick(job)
        return began


@pytest.fixture
def services(engine, monkeypatch):
    return Services(engine, monkeypatch)


@pytest.fixture
def make(user):
    pool = make_pool(user.memberships.get().team, nodes=1)
    return lambda **fields: make_job(user, pool, **fields)


@pytest.mark.parametrize("cause", FAILED)
def test_four_attempts_with_growing_pauses_then_failed(services, make, client, user, cause):
    job = make(auto_restart=True, max_restarts=3)
    begun = []
    for attempt in range(1, 5):
        begun.append(services.fails(job, FAILED[cause]))
        assert (job.attempt, job.restarts) == (attempt, min(attempt, 3))
        if attempt == 2:
            services.restart()
    assert (job.state, job.exit_code) == ("failed", FAILED[cause].exit_code)
    gaps = [(b - a).total_seconds() for a, b in pairwise(begun)]
    assert gaps == [10, 20, 40]
    for _ in range(5):
        services.tick(job, 600)
    assert (job.state, job.attempt, Attempt.objects.count()) == ("failed", 4, 4)
    assert len(services.engine.launches) == 4
    assert codes(job).count("restarted") == 3
    assert job.events.last().data["restarts_used_up"] == 3
    client.force_login(user)
    assert "restart 3/3" in client.get(f"/jobs/{job.key}/").content.decode()


def test_the_pause_is_bounded(services, make):
    job = make(auto_restart=True, max_restarts=10)
    begun = [services.fails(job, FAILED["exit"]) for _ in range(11)]
    gaps = [(b - a).total_seconds() for a, b in pairwise(begun)]
    assert gaps == [10, 20, 40, 80, 160, 300, 300, 300, 300, 300]
    assert (job.state, job.attempt) == ("failed", 11)


def test_off_is_one_attempt(services, make):
    job = make(auto_restart=False, max_restarts=3)
    services.fails(job, FAILED["exit"])
    services.tick(job, 600)
    assert (job.state, job.attempt, codes(job).count("restarted")) == ("failed", 1, 0)


def test_success_ends_it_whatever_is_left(services, make):
    job = make(auto_restart=True, max_restarts=3)
    services.fails(job, FAILED["kill -9"])
    services.fails(job, exited(code=0))
    services.tick(job, 600)
    assert (job.state, job.attempt, job.restarts) == ("succeeded", 2, 1)


def test_a_stop_beats_the_restart_that_is_due(services, make, user):
    job = make(auto_restart=True, max_restarts=3)
    services.fails(job, FAILED["exit"])
    assert job.state == "queued"
    services.now += timedelta(seconds=60)
    job_stop(job=job, actor=user)
    services.restart()
    services.tick(job, 600)
    assert (job.state, job.attempt, job.reason["code"]) == ("stopped", 1, "stopped_by_user")
    assert Job.objects.get().exit_code is None
