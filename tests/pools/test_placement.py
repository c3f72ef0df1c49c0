"""Placement never over-commits, is all or nothing, and agrees with the arithmetic."""

from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pools.capacity import Shape, fits, idle_nodes_of, startable, when_empty
from pools.placement import Counts, IdleNode, Nodes, landing_counts, why_not
from tests.pools.test_capacity import clusters


def nodes_of(idle: list[int], size: int) -> Nodes:
    return Nodes([IdleNode(f"n-{i:03}", i, k) for i, k in enumerate(idle)], size)


def test_best_fit_keeps_whole_nodes_whole():
    nodes = nodes_of([8, 3, 5, 3], 8)
    assert nodes.take(Shape.of_spec(2, 1)) == (1,)
    assert nodes.take(Shape.of_spec(2, 1)) == (3,)
    assert nodes.take(Shape.of_spec(4, 1)) == (2,)
    assert nodes.take(Shape.of_spec(8, 1)) == (0,)


def test_same_input_gives_same_answer():
    answers = {nodes_of([8, 8, 5, 3], 8).take(Shape.of_custom(13)) for _ in range(5)}
    assert answers == {(0, 2)}


def test_nofit_tells_cannot_now_from_can_never():
    shape = Shape.of_spec(8, 2)
    now = why_not(idle_nodes_of([8, 7, 7], 8), when_empty(3, 8), shape)
    assert now is not None
    assert (now.room, now.largest_block, now.never) == (1, 8, False)
    never = why_not(idle_nodes_of([8], 8), when_empty(1, 8), shape)
    assert never is not None
    assert never.never
    assert why_not(idle_nodes_of([8, 8], 8), when_empty(2, 8), shape) is None


def test_taking_what_does_not_fit_is_an_error():
    with pytest.raises(ValueError, match="no node has 8"):
        nodes_of([7], 8).take(Shape.of_spec(8, 1))


shapes = st.one_of(
    st.builds(Shape.of_spec, st.sampled_from([1, 2, 4, 8]), st.integers(1, 4)),
    st.builds(Shape.of_custom, st.integers(1, 30)),
)


@given(clusters(most=8), st.lists(shapes, max_size=12))
def test_never_over_commits_and_places_all_or_nothing(cluster, requests):
    idle, size = cluster
    nodes, counts = nodes_of(idle, size), Counts(idle_nodes_of(idle, size))
    used: Counter[int] = Counter()
    for shape in requests:
        assert nodes.fits(shape) == counts.fits(shape)
        if not nodes.fits(shape):
            continue
        placed = nodes.take(shape)
        counts.take(shape)
        assert len(placed) == shape.workers
        for node, gpus in zip(placed, shape.gpus_by_rank, strict=True):
            used[node] += gpus
        assert nodes.idle_nodes == counts.idle_nodes
    assert all(used[i] <= k for i, k in enumerate(idle))
    assert sorted(k - used[i] for i, k in enumerate(idle)) == sorted(
        k for k, n in enumerate(nodes.idle_nodes) for _ in range(n)
    )


@given(clusters(most=8), st.sampled_from([1, 2, 4, 8]))
def test_startable_is_what_placement_really_places(cluster, gpus):
    idle, size = cluster
    nodes = nodes_of(idle, size)
    expected = startable(nodes.idle_nodes, gpus)
    placed = 0
    while nodes.fits(Shape.of_spec(gpus, 1)):
        nodes.take(Shape.of_spec(gpus, 1))
        placed += 1
    assert placed == expected


@given(clusters(most=8), shapes)
def test_what_fits_can_be_taken(cluster, shape):
    idle, size = cluster
    nodes = nodes_of(idle, size)
    if fits(nodes.idle_nodes, shape):
        assert len(nodes.take(shape)) == shape.workers


@given(
    idle=st.lists(st.integers(0, 8), min_size=1, max_size=12),
    gpus=st.sampled_from([1, 2, 4, 8]),
    workers=st.integers(1, 12),
)
def test_landing_by_count_agrees_with_landing_by_node(idle, gpus, workers):
    shape, counts = Shape.of_spec(gpus, workers), idle_nodes_of(idle, 8)
    room = Nodes([IdleNode(f"n-{i:02}", i, k) for i, k in enumerate(idle)], 8)
    assume(room.fits(shape))
    landed = Counter(idle[node] for node in set(room.take(shape)))
    assert landing_counts(counts, shape) == [landed[k] for k in range(9)]


def test_a_smaller_last_worker_lands_too():
    assert landing_counts(idle_nodes_of([8, 8, 3], 8), Shape.of_custom(11)) == [0, 0, 0, 1, 0, 0, 0, 0, 1]
    assert landing_counts(idle_nodes_of([8, 8], 8), Shape.of_custom(11)) == [0, 0, 0, 0, 0, 0, 0, 0, 2]
    assert landing_counts(idle_nodes_of([5], 8), Shape.of_custom(3)) == [0, 0, 0, 0, 0, 1, 0, 0, 0]
