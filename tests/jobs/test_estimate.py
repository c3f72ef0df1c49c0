"""What would happen to a request: the numbers of the form, from values alone."""

from dataclasses import replace
from datetime import timedelta

import pytest

from jobs.environment import DEFAULT_MASTER_PORT
from jobs.estimate import estimate, landed
from jobs.facts import QuotaFacts, WaitingFacts
from jobs.rules.limits import (
    MOST_COMMAND_BYTES,
    MOST_MOUNTS,
    MOST_NAME,
    MOST_VALUE_BYTES,
    MOST_VARIABLES,
)
from jobs.spec import EnvVar, MountSpec
from pools.capacity import Shape
from pools.placement import IdleNode
from tests.jobs.value_facts import FLAVOR, NOW, TEAM, facts, flavor, pool, spec


def waiting(*, gpus=1, workers=1, jobs=1, priority=1, team=TEAM, first=10):
    return WaitingFacts(FLAVOR, priority, team, Shape.of_spec(gpus, workers), jobs, first)


@pytest.mark.parametrize(
    ("idle", "startable"),
    [((8, 8, 5, 3, 2), {1: 26, 2: 12, 4: 5, 8: 2}), ((3, 3, 2), {1: 8, 2: 3, 4: 0, 8: 0})],
)
def test_startable_idle_and_total_are_three_numbers(idle, startable):
    given = facts(pool=pool(flavor(idle)))
    for gpus, count in startable.items():
        judged = estimate(spec(gpus=gpus), given)
        assert (judged.startable, judged.idle_gpus, judged.total_gpus) == (count, sum(idle), gpus)
        assert judged.starts_now == (count > 0)


@pytest.mark.parametrize(("idle", "largest"), [((8, 8, 5, 3), 21), ((7, 7, 7), 7), ((4, 4, 4), 4)])
def test_custom_counts_are_in_gpus(idle, largest):
    given = facts(pool=pool(flavor(idle)))
    judged = estimate(spec(custom_gpus=largest), given)
    assert (judged.unit, judged.startable, judged.wanted, judged.starts_now) == (
        "gpus",
        largest,
        largest,
        True,
    )
    more = estimate(spec(custom_gpus=largest + 1), given)
    assert not more.starts_now


def test_what_does_not_fit_now_waits_with_its_reason():
    judged = estimate(spec(gpus=8), facts(pool=pool(flavor((3, 3, 2)))))
    assert judged.valid
    assert judged.reason.code == "capacity"
    assert (judged.reason.data["room"], judged.reason.data["largest_block"]) == (0, 3)


def test_what_can_never_run_here_is_an_error():
    judged = estimate(spec(gpus=8, worker_count=5), facts())
    assert [(f.field, f.code) for f in judged.errors] == [("worker_count", "never_fits")]
    assert not judged.valid
    custom = estimate(spec(custom_gpus=33), facts())
    assert [(f.field, f.code) for f in custom.errors] == [("custom_gpus", "never_fits")]


@pytest.mark.parametrize(
    "why_not_now",
    [
        {"pool": pool(paused=True)},
        {"pool": pool(flavor((8,) * 3 + (0,)), strict=True), "waiting": (waiting(gpus=8, workers=4),)},
        {"pool": pool(quotas={TEAM: QuotaFacts(40, 48)})},
    ],
)
def test_what_can_never_run_is_refused_whatever_else_stands_in_its_way(why_not_now):
    judged = estimate(spec(gpus=8, worker_count=5), facts(**why_not_now))
    assert "never_fits" in [f.code for f in judged.errors]


def test_nodes_out_of_service_make_it_wait_not_fail():
    judged = estimate(spec(gpus=8, worker_count=3), facts(pool=pool(flavor((8, 8), nodes=4))))
    assert judged.valid
    assert judged.reason.code == "out_of_service"


def test_quota_now_and_quota_never():
    quota = {TEAM: QuotaFacts(held=6, limit=8)}
    waits = estimate(spec(gpus=4), facts(pool=pool(quotas=quota)))
    assert waits.valid
    assert waits.reason.data == {"held": 6, "limit": 8, "wanted": 4}
    never = estimate(spec(gpus=8, worker_count=2), facts(pool=pool(quotas=quota)))
    assert [f.code for f in never.errors] == ["over_quota"]


def test_a_paused_pool_makes_it_wait():
    judged = estimate(spec(), facts(pool=pool(paused=True)))
    assert (judged.valid, judged.starts_now, judged.reason.code) == (True, False, "pool_paused")


def test_the_queue_ahead_counts_the_same_and_higher_priorities():
    given = facts(
        pool=pool(flavor((0,))),
        waiting=(
            waiting(gpus=8, workers=2, jobs=3, priority=0),
            waiting(gpus=2, jobs=5),
            waiting(gpus=1, jobs=7, priority=2),
        ),
    )
    place = estimate(spec(), given).queue
    assert (place.ahead, place.gpus_ahead, place.position) == (8, 58, 9)
    low = estimate(spec(priority="low"), given).queue
    assert (low.ahead, low.gpus_ahead) == (15, 65)


def test_those_ahead_who_are_about_to_start_take_their_room():
    given = facts(pool=pool(flavor((8,))), waiting=(waiting(gpus=8),))
    assert estimate(spec(), given).reason.code == "capacity"


def test_strict_fifo_waits_behind_the_head():
    given = facts(pool=pool(flavor((4, 4)), strict=True), waiting=(waiting(gpus=8),))
    assert estimate(spec(), given).reason.code == "behind_head"


@pytest.mark.parametrize(("minutes", "starts"), [(59, True), (61, False)])
def test_best_effort_waits_behind_an_old_head(minutes, starts):
    head = {"head_job": 10, "head_since": NOW - timedelta(minutes=minutes)}
    given = facts(pool=pool(flavor((4, 4), **head)), waiting=(waiting(gpus=8),))
    assert estimate(spec(), given).starts_now == starts


def test_landing_is_best_fit():
    landing = (IdleNode("a", 1, 3), IdleNode("b", 2, 8))
    given = facts(pool=pool(flavor((3, 8))))
    places = landed(estimate(spec(gpus=2, worker_count=3), given), landing).workers
    assert [(p.rank, p.gpus, p.node) for p in places] == [(0, 2, "a"), (1, 2, "b"), (2, 2, "b")]


def test_only_the_ranks_asked_for_are_listed():
    judged = estimate(spec(worker_count=20), facts())
    assert len(judged.workers) == 8
    assert len(estimate(spec(worker_count=20), facts(), ranks=1024).workers) == 20


def test_preview_of_variables():
    request = spec(
        worker_count=2, framework="pytorch_ddp", env=(EnvVar("A", "1"), EnvVar("KEY", "secret", private=True))
    )
    judged = estimate(request, facts())
    assert judged.environment_common["A"] == "1"
    assert judged.environment_common["KEY"] is None
    assert judged.environment_common["MASTER_PORT"] == str(DEFAULT_MASTER_PORT)
    assert judged.environment_common["WORLD_SIZE"] == "2"
    assert [r["RANK"] for r in judged.environment_ranks] == ["0", "1"]
    assert "secret" not in repr(judged)


def test_an_unfinished_request_is_judged_as_far_as_it_goes():
    judged = estimate(replace(spec(), spec=None, pool=None), facts(pool=None))
    assert (judged.startable, judged.total_gpus, judged.queue) == (None, None, None)
    assert not judged.valid


def test_absurd_counts_cost_nothing():
    judged = estimate(spec(worker_count=2_000_000_000), facts())
    assert [f.code for f in judged.errors] == ["out_of_range"]
    assert judged.workers == ()


@pytest.mark.parametrize(
    ("asked", "second_looks"),
    [
        ({"mounts": (MountSpec(1, "/mnt/a"),) * (MOST_MOUNTS + 1)}, False),
        ({"env": (EnvVar("A", "1"),) * (MOST_VARIABLES + 1)}, False),
        ({"env": (EnvVar("A", "x" * (MOST_VALUE_BYTES + 1)),)}, False),
        ({"command": "x" * (MOST_COMMAND_BYTES + 1)}, False),
        ({"name": "x" * (MOST_NAME + 1)}, True),  # no second look goes through it
        ({"mounts": (MountSpec(1, "/mnt/a"),) * MOST_MOUNTS}, True),
    ],
)
def test_what_is_refused_for_its_size_gets_no_second_look(monkeypatch, asked, second_looks):
    looked_at = []
    monkeypatch.setattr("jobs.estimate.advise", lambda spec, *_: looked_at.append(spec) or [])
    judged = estimate(spec(**asked), facts())
    assert (bool(looked_at), judged.valid) == (second_looks, False)
