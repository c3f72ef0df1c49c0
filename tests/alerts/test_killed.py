"""Whoever is killed between any two steps: each event arrives once, and once more only if the receiver had
taken it already."""

import os
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from alerts.models import Delivery, Notice, Reading
from alerts.rules import Subject
from jobs.lifecycle import move
from jobs.models import JobEvent
from jobs.states import State
from tests.alerts.made import make_channel, make_rule
from tests.factories import make_job, make_pool, make_team, make_user

ROOT = Path(__file__).resolve().parents[2]
MOST_STEPS = 80


def database_address():
    """Of the database that the tests use now."""
    found = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{found['NAME']}"
    place = f"{found['HOST'] or ''}:{found['PORT'] or ''}".rstrip(":")
    return f"postgres://{found['USER']}:{found['PASSWORD']}@{place}/{found['NAME']}"


@contextmanager
def worker():
    """Answers where a fork died that had to at the given step."""
    env = os.environ | {
        "DJANGO_SETTINGS_MODULE": "console.settings",
        "DATABASE_URL": database_address(),
        "DATA_DIR": str(settings.DATA_DIR),
        "ALERT_ALLOWED_NETWORKS": "127.0.0.0/8",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.alerts.killed_once"], cwd=ROOT, env=env, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip

    def ask(step):
        process.stdin.write(f"{step}\n")
        process.stdin.flush()
        return process.stdout.readline().strip()

    try:
        yield ask
    finally:
        process.stdin.close()
        process.wait(timeout=30)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_killed_between_any_two_steps(sink):
    user = make_user(make_team())
    pool = make_pool(user.memberships.get().team)
    channel = make_channel(user, url=sink.url())
    died, twice = [], []
    with worker() as ask:
        for step in range(1, MOST_STEPS):
            job = make_job(user, pool)
            make_rule(channel, Subject.JOB, job.pk, "failed")
            move([job.pk], State.QUEUED, State.FAILED)
            died.append(ask(step))
            assert [ask("whole"), ask("whole")] == ["end", "end"]
            times = arrived(sink)[job.key]
            if times == 2:
                twice.append(died[-1])
            assert times in (1, 2), died
            if died[-1] == "end":
                break
    told = Notice.objects.filter(subject="job").count()
    assert told == len(died) == Reading.objects.count()
    assert set(Delivery.objects.values_list("state", flat=True)) == {"sent"}
    assert not JobEvent.objects.filter(to_tell=True).exists()
    assert died[-1] == "end"
    assert len(died) > 20
    assert died.index("before sending") < died.index("after sending") < len(died) - 3
    after = died[died.index("after sending") : -1]
    assert set(twice) <= set(after), "sent twice though it had not arrived"
    assert twice[0] == "after sending"


def arrived(sink):
    """How often something of each job came."""
    return Counter(asked.json["subject"]["id"] for asked in sink.asked)
