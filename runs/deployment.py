"""Writes down how the deployment of an attempt goes: its steps with their times, and where it failed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from django.db import transaction

from engines.base import WorkerLook
from jobs.models import Attempt
from runs.stages import Broken, Deployment, steps_begun


def untold_steps(attempt: Attempt, looks: Sequence[WorkerLook], expected: int) -> dict[str, float]:
    """What the looks know of begun steps and the row does not."""
    kept = (attempt.deployment or {}).get("begun", {})
    return {step: at for step, at in steps_begun(looks, expected).items() if step not in kept}


def record_begun(attempt: Attempt, looks: Sequence[WorkerLook], expected: int) -> None:
    """The first look that tells of a step counts."""
    news = untold_steps(attempt, looks, expected)
    if news:
        _keep(attempt, lambda kept: replace(kept, begun=news | dict(kept.begun)))


def record_launch(attempt: Attempt, now: float) -> None:
    """The engine is asked to start what is missing of the attempt."""
    _keep(attempt, lambda kept: kept.launched(now))


def record_broken(attempt: Attempt, broken: Broken) -> bool:
    """Whether this was the first to tell where the deployment failed; it stays so for ever."""
    return _keep(attempt, lambda kept: kept if kept.broken else replace(kept, broken=broken))


def _keep(attempt: Attempt, change: Callable[[Deployment], Deployment]) -> bool:
    """Whether the row was changed; `attempt` knows what the row has."""
    with transaction.atomic():
        row = Attempt.objects.select_for_update(no_key=True).filter(pk=attempt.pk)
        found = row.values_list("deployment", flat=True).first()
        kept = Deployment.from_json(found)
        news = change(kept)
        attempt.deployment = news.as_json()
        if news == kept:
            return False
        return bool(Attempt.objects.filter(pk=attempt.pk).update(deployment=news.as_json()))
