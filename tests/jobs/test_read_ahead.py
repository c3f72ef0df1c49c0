"""What takes long in judging a request is done before anybody's lock is held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from jobs.command import exits, paths, reading, secrets
from jobs.estimate import Promise
from jobs.idempotency import Sent, job_create_once
from jobs.models import Job
from jobs.services import job_create
from jobs.spec import EnvVar
from jobs.trials import trial_create
from tests.factories import make_spec

pytestmark = pytest.mark.django_db(transaction=True)
ENV = (EnvVar("OUT", "/mnt/out"),)
WAYS = {
    "alone": lambda user, spec: job_create(user=user, spec=spec),
    "form": lambda user, spec: job_create_once(
        Sent(user, "/jobs/create/", "t", {"name": ["a job"]}),
        spec,
        lambda: job_create(user=user, spec=spec, promise=Promise()),
    ),
    "trial": lambda user, spec: trial_create(user=user, spec=spec, draft="d"),
}
LONG = ((exits, "_text_findings"), (reading, "parsed"), (secrets, "_named_words"), (paths, "_of_command"))


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """Of all that is kept by text, whether it was ever done within a transaction."""
    seen: dict[str, bool] = {}

    def watched(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            seen[name] = seen.get(name, False) or connection.in_atomic_block
            return original(*args)

        return call

    for module, name in LONG:
        monkeypatch.setattr(module, name, watched(name, getattr(module, name)))
    return seen


@pytest.fixture
def command() -> str:
    """One that was never looked at before."""
    return f"python t.py --output /mnt/{uuid4()} | tee log"


@pytest.mark.parametrize("way", WAYS)
def test_a_command_is_read_before_the_transaction(way, inside, command, alice, pool):
    WAYS[way](alice, make_spec(pool, command=command, env=ENV, team=alice.memberships.get().team_id))
    assert inside == dict.fromkeys([name for _module, name in LONG], False)
    assert Job.objects.get().findings  # the judgement that was kept did look at it


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "k"}])
def test_a_command_sent_by_rest_is_too(headers, inside, command, api, alice, body):
    sent = body | {"command": command, "env": [{"name": "OUT", "value": "/mnt/out"}]}
    assert api(alice).post("/api/v1/jobs/", sent, headers=headers).status_code == 201
    assert inside == dict.fromkeys([name for _module, name in LONG], False)
