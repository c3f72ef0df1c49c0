"""Jobs, nodes, teams and processes in any order: what must hold of them holds after each step."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.jobs.machine import JobsMachine

CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def run(examples, steps):
    bounds = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=CHECKS
    )
    run_state_machine_as_test(JobsMachine, settings=bounds)


@pytest.mark.django_db
@pytest.mark.timeout(400)  # a failure takes its time to be made small
def test_what_must_hold_holds_whatever_happens():
    run(20, 25)


@pytest.mark.django_db
@pytest.mark.slow
@pytest.mark.timeout(800)
def test_what_must_hold_holds_whatever_happens_for_long():
    run(40, 50)
