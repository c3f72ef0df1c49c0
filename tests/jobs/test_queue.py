"""Who starts next: both disciplines, the overtake bound, quota, pause, and gangs."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.queue import FlavorState, PoolState, Quota, WaitingClass, decide
from pools.capacity import Shape, fits, idle_nodes_of
from pools.placement import Counts, IdleNode, Nodes

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HIGH, NORMAL, LOW = 0, 1, 2
UNLIMITED = {1: Quota(0), 2: Quota(0)}


def flavor(idle, nodes=None, **kwargs):
    named = Nodes([IdleNode(f"n{i}", i, k) for i, k in enumerate(idle)], 8)
    return FlavorState(named, 8, schedulable=len(idle), nodes=nodes or len(idle), **kwargs)


def pool(idle, *, quotas=None, head=None, **kwargs):
    head_job, head_since = head or (None, None)
    flavors = {1: flavor(idle, head_job=head_job, head_since=head_since)}
    return PoolState(now=NOW, flavors=flavors, quotas=UNLIMITED | (quotas or {}), **kwargs)


def waiting(*jobs, gpus=1, workers=1, priority=NORMAL, team=1):
    return WaitingClass(1, priority, team, Shape.of_spec(gpus, workers), jobs)


def started(decision):
    return [start.job for start in decision.starts]


def test_oldest_first_within_a_priority_and_high_before_low():
    classes = [waiting(1, 5, priority=LOW), waiting(2, 4), waiting(3, priority=HIGH)]
    assert started(decide(pool([8]), classes, 99)) == [3, 2, 4, 1, 5]


def test_shapes_are_merged_by_age():
    classes = [waiting(1, 3, gpus=1), waiting(2, 4, gpus=2)]
    assert started(decide(pool([8]), classes, 99)) == [1, 2, 3, 4]


def test_best_effort_passes_over_who_does_not_fit():
    decision = decide(pool([4, 7]), [waiting(1, gpus=8), waiting(2, gpus=2)], 99)
    assert started(decision) == [2]
    assert decision.reasons[1].code == "capacity"
    assert decision.reasons[1].data["largest_block"] == 7
    assert decision.heads[1].job == 1
    assert not decision.heads[1].blocks


def test_strict_fifo_lets_nobody_past_the_head():
    decision = decide(pool([4, 7], strict=True), [waiting(1, gpus=8), waiting(2, gpus=2)], 99)
    assert started(decision) == []
    assert decision.reasons[2].code == "behind_head"
    assert decision.reasons[2].data == {"head": 1}


@pytest.mark.parametrize(("minutes", "overtaken"), [(59, True), (61, False)])
def test_a_head_is_not_overtaken_longer_than_the_bound(minutes, overtaken):
    head = (1, NOW - timedelta(minutes=minutes))
    decision = decide(pool([4, 7], head=head), [waiting(1, gpus=8), waiting(2, gpus=2)], 99)
    assert started(decision) == ([2] if overtaken else [])
    assert decision.heads[1].since == head[1]


def test_a_new_head_counts_from_now():
    head = (99, NOW - timedelta(hours=9))
    decision = decide(pool([4, 7], head=head), [waiting(1, gpus=8), waiting(2, gpus=2)], 99)
    assert decision.heads[1].since == NOW
    assert started(decision) == [2]


@pytest.mark.parametrize("strict", [True, False])
def test_quota_blocks_nobody_else(strict):
    classes = [waiting(1, gpus=8, team=1), waiting(2, gpus=8, team=2), waiting(3, gpus=4, team=1)]
    decision = decide(pool([8, 8], strict=strict, quotas={1: Quota(4, 8)}), classes, 99)
    assert started(decision) == [2, 3]
    assert decision.reasons[1].code == "quota"
    assert decision.reasons[1].data == {"held": 4, "limit": 8, "wanted": 8}
    assert decision.heads == {}


def test_quota_counts_what_starts_in_the_same_cycle():
    decision = decide(pool([8, 8], quotas={1: Quota(0, 3)}), [waiting(1, 2, 3, 4)], 99)
    assert started(decision) == [1, 2, 3]


def test_a_team_without_a_grant_starts_nothing_and_blocks_nobody():
    decision = decide(pool([8]), [waiting(1, gpus=8, team=3), waiting(2)], 99)
    assert started(decision) == [2]
    assert decision.reasons[1].code == "not_granted"


@pytest.mark.parametrize("strict", [True, False])
def test_what_can_never_fit_blocks_nobody(strict):
    state = PoolState(NOW, {1: flavor([8], nodes=1)}, UNLIMITED, strict=strict)
    decision = decide(state, [waiting(1, gpus=8, workers=2), waiting(2)], 99)
    assert started(decision) == [2]
    assert decision.reasons[1].code == "never_fits"


@pytest.mark.parametrize("strict", [True, False])
def test_nodes_out_of_service_make_no_head(strict):
    state = PoolState(NOW, {1: flavor([8], nodes=2)}, UNLIMITED, strict=strict)
    decision = decide(state, [waiting(1, gpus=8, workers=2), waiting(2)], 99)
    assert started(decision) == [2]
    assert decision.reasons[1].code == "out_of_service"


def test_a_paused_pool_starts_nothing():
    decision = decide(pool([8], paused=True), [waiting(1)], 99)
    assert started(decision) == []
    assert decision.reasons[1].code == "pool_paused"


def test_two_gangs_never_hold_parts():
    classes = [waiting(1, 2, gpus=8, workers=3)]
    decision = decide(pool([8, 8, 8, 8]), classes, 99)
    assert started(decision) == [1]
    assert len(decision.starts[0].nodes) == 3


def test_a_head_of_one_flavor_blocks_only_there():
    state = PoolState(NOW, {1: flavor([4, 7]), 2: flavor([8])}, UNLIMITED, strict=True)
    other = WaitingClass(2, NORMAL, 1, Shape(8, 8), (3,))
    assert started(decide(state, [waiting(1, gpus=8), waiting(2), other], 99)) == [3]


def test_bounded_starts_ask_for_another_cycle():
    decision = decide(pool([8]), [waiting(1, 2, 3)], 2)
    assert started(decision) == [1, 2]
    assert decision.more


def test_a_class_cut_short_asks_for_another_cycle():
    cut = WaitingClass(1, NORMAL, 1, Shape(1, 1), (1, 2), cut=True)
    assert decide(pool([8]), [cut], 99).more
    assert not decide(pool([8]), [waiting(1, 2)], 99).more


shapes = st.one_of(
    st.builds(Shape.of_spec, st.sampled_from([1, 2, 4, 8]), st.integers(1, 3)),
    st.builds(Shape.of_custom, st.integers(1, 20)),
)


@st.composite
def queues(draw):
    jobs = draw(st.lists(st.tuples(shapes, st.integers(0, 2), st.integers(1, 2)), max_size=12))
    classes: dict = {}
    for job, (shape, priority, team) in enumerate(jobs, 1):
        classes.setdefault((shape, priority, team), []).append(job)
    return [WaitingClass(1, p, t, s, tuple(ids)) for (s, p, t), ids in classes.items()]


@given(st.lists(st.integers(0, 8), max_size=6), queues(), st.booleans(), st.integers(0, 30))
def test_never_over_commits_or_exceeds_a_quota(idle, classes, strict, limit):
    state = pool(idle, strict=strict, quotas={1: Quota(0, limit)})
    decision = decide(state, classes, 99)
    used = dict.fromkeys(range(len(idle)), 0)
    team = {job: c.team for c in classes for job in c.jobs}
    for start in decision.starts:
        assert len(start.nodes) == start.shape.workers
        for node, gpus in zip(start.nodes, start.shape.gpus_by_rank, strict=True):
            used[node] += gpus
    assert all(used[i] <= k for i, k in enumerate(idle))
    assert sum(s.shape.total_gpus for s in decision.starts if team[s.job] == 1) <= limit


@given(st.lists(st.integers(0, 8), max_size=6), queues(), st.booleans())
def test_counts_decide_as_nodes_do(idle, classes, strict):
    by_node = decide(pool(idle, strict=strict), classes, 99)
    counted = FlavorState(Counts(idle_nodes_of(idle, 8)), 8, len(idle), len(idle))
    by_count = decide(PoolState(NOW, {1: counted}, UNLIMITED, strict=strict), classes, 99)
    assert started(by_node) == started(by_count)
    assert by_node.reasons == by_count.reasons


@given(st.lists(st.integers(0, 8), max_size=6), queues())
def test_best_effort_leaves_nobody_who_would_fit(idle, classes):
    state = pool(idle)
    decision = decide(state, classes, 99)
    left = state.flavors[1].room.idle_nodes
    done = set(started(decision))
    for waiting_class in classes:
        if set(waiting_class.jobs) - done:
            assert not fits(left, waiting_class.shape)


@given(st.lists(st.integers(0, 8), max_size=6), queues())
def test_strict_starts_are_a_prefix_of_those_who_could_ever_run(idle, classes):
    state = pool(idle, strict=True)
    decision = decide(state, classes, 99)
    order = sorted((c.priority, job, c.shape) for c in classes for job in c.jobs)
    possible = [job for _, job, shape in order if fits([0] * 8 + [len(idle)], shape)]
    assert started(decision) == possible[: len(decision.starts)]
