"""Private values on their way to the engine: apart from all else, whoever entered them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.models import Job
from jobs.scheduling import queue_cycle
from jobs.spec import EnvVar
from runs.launching import launch
from tests.factories import make_job, make_pool, make_team, make_user
from tests.runs.stand_in import StandIn

pytestmark = pytest.mark.django_db


def test_a_value_kept_from_a_team_mate_reaches_the_engine_and_stands_nowhere_else() -> None:
    team = make_team()
    pool = make_pool(team)
    first = make_job(make_user(team), pool, env=[EnvVar("KEY", "sekret-4711", private=True)])
    copy = make_job(make_user(team), pool, env=[EnvVar("KEY", None, private=True, from_job=first.key)])
    queue_cycle(pool_id=pool.pk)

    job = Job.objects.get(pk=copy.pk)
    attempt = job.attempts.get()
    engine = StandIn()
    launch(job, attempt, list(attempt.workers.all()), engine)
    (asked,) = engine.launches
    assert asked.private == {"KEY": "sekret-4711"}
    assert "sekret" not in repr(replace(asked, private={}))
