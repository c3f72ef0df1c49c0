"""What is told of an attempt: its deploy steps."""

from __future__ import annotations

from jobs.models import Attempt
from jobs.states import DeployStep
from jobs.timeline import Run, Step, deploy_steps

STEPS = tuple(str(step) for step in DeployStep)


def attempt_steps(attempt: Attempt) -> tuple[Step, ...]:
    """The environment check is one of them only where it was done."""
    run = Run(attempt.number, attempt.placed_at, attempt.started_at, attempt.ended_at)
    steps = deploy_steps(run, STEPS, attempt.deployment)
    return tuple(step for step in steps if step.begin or step.reason or step.name != DeployStep.ENV_CHECK)
