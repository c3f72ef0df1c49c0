"""Jobs that avoid nodes: where they go, what is said of them, and that nobody else notices."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.queue import FlavorState, PoolState, Quota, WaitingClass, avoided_ids, avoided_text, decide
from pools.capacity import Shape, fits, idle_nodes_of
from pools.placement import Counts, IdleNode, MarkedNode, Nodes

NOW = datetime(2026, 1, 1, tzinfo=UTC)
UNLIMITED = {1: Quota(0), 2: Quota(0)}


def pool(idle, *, out=(), head=None, **kwargs):
    """Nodes n0, n1 … with these GPUs idle; `out` of them are out of service. All of them are marked."""
    marked = {i: MarkedNode(f"n{i}", i not in out) for i in range(len(idle))}
    room = Nodes([IdleNode(f"n{i}", i, k) for i, k in enumerate(idle) if i not in out], 8, marked)
    head_job, head_since = head or (None, None)
    state = FlavorState(*(room, 8, len(idle) - len(out), len(idle), head_job, head_since), marked=marked)
    return PoolState(now=NOW, flavors={1: state}, quotas=UNLIMITED, **kwargs)


def waiting(*jobs, gpus=8, workers=1, avoided=(), team=1):
    return WaitingClass(1, 1, team, Shape.of_spec(gpus, workers), jobs, avoided=frozenset(avoided))


def starts(state, *classes):
    return {start.job: start.nodes for start in decide(state, classes, 99).starts}


@pytest.mark.parametrize(
    ("idle", "out", "job", "nodes", "code"),
    [
        ([8, 8], (), {"avoided": {0}}, (1,), ""),
        ([8, 8, 8], (), {"avoided": {0, 1}}, (2,), ""),
        ([8, 8, 8], (), {"avoided": {1}, "workers": 2}, (0, 2), ""),
        ([3, 8], (), {"avoided": {0}, "gpus": 2}, (1,), ""),  # best fit would take the first
        ([8, 0], (), {"avoided": {0}}, None, "avoided"),
        ([0, 0], (), {"avoided": {0}}, None, "capacity"),
        ([8, 8], (1,), {"avoided": {0}}, None, "avoided"),  # the other one may come back
        ([0, 8], (1,), {"avoided": {0}}, None, "out_of_service"),
        ([8], (), {"avoided": {0}}, (0,), ""),  # there is no other node: it would wait for ever
        ([8, 8], (), {"avoided": {0}, "workers": 2}, (0, 1), ""),
        ([8, 8], (), {"avoided": {0, 1}}, (0,), ""),
        ([8, 8], (), {"avoided": {7}}, (0,), ""),  # a node that is gone
    ],
)
def test_where_a_job_goes_that_avoids_nodes(idle, out, job, nodes, code):
    decision = decide(pool(idle, out=out), [waiting(1, **job)], 99)
    assert [s.nodes for s in decision.starts] == ([nodes] if nodes else [])
    assert [r.code for r in decision.reasons.values()] == ([code] if code else [])


def test_the_reason_names_the_nodes_and_counts_the_others():
    decision = decide(pool([8, 0]), [waiting(1, avoided={0})], 99)
    assert decision.reasons[1].data == {"nodes": ["n0"]}
    decision = decide(pool([5, 3]), [waiting(1, avoided={0})], 99)
    assert (decision.reasons[1].code, decision.reasons[1].data["largest_block"]) == ("capacity", 3)


def test_jobs_of_one_shape_are_told_apart_by_what_they_avoid():
    assert starts(pool([8, 8]), waiting(1, avoided={0}), waiting(2)) == {1: (1,), 2: (0,)}
    assert starts(pool([8, 0]), waiting(1, avoided={0}), waiting(2)) == {2: (0,)}


def test_what_others_took_of_an_avoided_node_is_known():
    classes = [waiting(1, gpus=4), waiting(2, gpus=4, avoided={0}), waiting(3, gpus=4, avoided={0})]
    assert starts(pool([8, 4]), *classes) == {1: (1,)}
    assert starts(pool([4, 8]), *classes) == {1: (0,), 2: (1,), 3: (1,)}


def test_a_head_that_avoids_is_not_overtaken_for_longer_than_the_bound():
    classes = [waiting(1, avoided={0}), waiting(2)]
    fresh = pool([8, 0], head=(1, NOW - timedelta(minutes=59)))
    assert starts(fresh, *classes) == {2: (0,)}
    old = pool([8, 0], head=(1, NOW - timedelta(minutes=61)))
    decision = decide(old, classes, 99)
    assert (decision.starts, decision.reasons[2].code) == ([], "behind_head")


def test_one_that_no_other_node_in_service_could_hold_is_no_head():
    decision = decide(pool([8, 8], out=(1,), strict=True), [waiting(1, avoided={0}), waiting(2)], 99)
    assert [s.job for s in decision.starts] == [2]
    assert decision.heads == {}


def test_counts_leave_out_what_they_know():
    room = Counts([0, 1, 1], {1: 1, 2: 2, 3: 2})  # the third was read at another moment
    assert room.idle_without({1, 3, 4}) == [0, 0, 1]
    assert room.take(Shape(1, 1), {1}) == ()
    assert (room.idle_nodes, room.marked) == ([0, 2, 0], {1: 1, 2: 1})
    with pytest.raises(ValueError, match="no node has 1"):
        room.take(Shape(1, 1), {1, 2})


@pytest.mark.parametrize(("nodes", "text"), [((), ""), ((7,), "7"), ((30, 4), "4,30")])
def test_avoided_nodes_are_kept_as_one_text(nodes, text):
    assert avoided_text(nodes) == text
    assert avoided_ids(text) == frozenset(nodes)


jobs = st.tuples(
    st.sampled_from([Shape.of_spec(1, 1), Shape.of_spec(2, 3), Shape.of_spec(8, 1), Shape.of_custom(12)]),
    st.integers(0, 1),
    st.frozensets(st.integers(0, 4), max_size=3),
)


def queue_of(asked):
    classes: dict = {}
    for job, (shape, priority, avoided) in enumerate(asked, 1):
        classes.setdefault((shape, priority, avoided), []).append(job)
    return [WaitingClass(1, p, 1, s, ids, avoided=a) for (s, p, a), ids in classes.items()]


@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=9),
    st.sets(st.integers(0, 4)),
    st.lists(jobs, max_size=9),
    st.booleans(),
)
def test_counts_decide_as_nodes_do(idle, out, asked, strict):
    """Where the marked nodes come last by their names; of others of equal room they need not come last."""
    idle = dict(enumerate(idle))
    marked = {i: MarkedNode(f"z{i}", i not in out) for i in idle if i < 5}
    there = {i: k for i, k in idle.items() if i not in out}
    nodes = Nodes([IdleNode(f"z{i}" if i in marked else f"n{i}", i, k) for i, k in there.items()], 8, marked)
    counts = Counts(idle_nodes_of(there.values(), 8), {i: k for i, k in there.items() if i in marked})
    by_node, by_count = (
        decide(
            PoolState(
                NOW, {1: FlavorState(room, 8, len(there), len(idle), marked=marked)}, UNLIMITED, strict
            ),
            queue_of(asked),
            99,
        )
        for room in (nodes, counts)
    )
    assert [(s.job, s.shape) for s in by_node.starts] == [(s.job, s.shape) for s in by_count.starts]
    assert (by_node.reasons, by_node.heads) == (by_count.reasons, by_count.heads)
    assert (nodes.idle_nodes, nodes.marked) == (counts.idle_nodes, counts.marked)


@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=5),
    st.sets(st.integers(0, 4)),
    st.lists(jobs, max_size=9),
)
def test_avoiding_is_never_ignored_and_nobody_is_forgotten(idle, out, asked):
    out = {i for i in out if i < len(idle)}
    state = pool(idle, out=out)
    flavor = state.flavors[1]
    queue = queue_of(asked)
    decision = decide(state, queue, 99)
    used = dict.fromkeys(range(len(idle)), 0)
    apart = {job: flavor.apart(c) for c in queue for job in c.jobs}
    for start in decision.starts:
        assert not set(start.nodes) & (apart[start.job] | out)
        for node, gpus in zip(start.nodes, start.shape.gpus_by_rank, strict=True):
            used[node] += gpus
    assert all(used[i] <= k for i, k in enumerate(idle))
    done = {start.job for start in decision.starts}
    for waiting_class in queue:
        if set(waiting_class.jobs) - done:
            left = [0] * 9
            for i, k in enumerate(idle):
                if i not in out | flavor.apart(waiting_class):
                    left[k - used[i]] += 1
            assert not fits(left, waiting_class.shape)
            assert any(job in decision.reasons for job in waiting_class.jobs)
