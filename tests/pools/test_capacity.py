"""Every figure of the startable arithmetic, and its properties against brute force."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pools.capacity import (
    Shape,
    custom_startable,
    fits,
    idle_gpus,
    idle_nodes_of,
    largest_block,
    startable,
    when_empty,
)

NODE_SIZES = st.sampled_from([1, 2, 4, 8, 10, 16])


@st.composite
def clusters(draw, most=5):
    """Idle GPUs of up to `most` nodes of one size, and that size."""
    size = draw(NODE_SIZES)
    return draw(st.lists(st.integers(0, size), max_size=most)), size


@pytest.mark.parametrize(
    ("idle", "by_gpus"),
    [
        ([8, 8, 5, 3, 2], {1: 26, 2: 12, 4: 5, 8: 2}),
        ([8, 8, 5, 3], {1: 24, 2: 11, 4: 5, 8: 2}),
        ([3, 3, 2], {1: 8, 2: 3, 4: 0, 8: 0}),
        ([], {1: 0, 2: 0, 4: 0, 8: 0}),
        ([0, 0], {1: 0, 2: 0, 4: 0, 8: 0}),
    ],
)
def test_startable_is_counted_node_by_node(idle, by_gpus):
    counts = idle_nodes_of(idle, 8)
    assert {gpus: startable(counts, gpus) for gpus in by_gpus} == by_gpus


@pytest.mark.parametrize(
    ("idle", "largest"),
    [
        ([8, 8, 5, 3], 21),
        ([7, 7, 7], 7),
        ([4, 4, 4], 4),
        ([8, 8], 16),
        ([1], 1),
        ([], 0),
        ([10, 10], 18),
        ([16, 7], 23),
    ],
)
def test_custom_startable(idle, largest):
    assert custom_startable(idle_nodes_of(idle, 16)) == largest


@pytest.mark.parametrize(
    ("gpus", "workers"),
    [(1, (1,)), (7, (7,)), (8, (8,)), (9, (8, 1)), (16, (8, 8)), (21, (8, 8, 5))],
)
def test_custom_count_is_split(gpus, workers):
    shape = Shape.of_custom(gpus)
    assert shape.gpus_by_rank == workers
    assert shape.workers == len(workers)
    assert sum(shape.gpus_by_rank) == gpus


def test_total_is_workers_times_gpus():
    shape = Shape.of_spec(8, 4)
    assert shape.total_gpus == 32
    assert shape.gpus_by_rank == (8, 8, 8, 8)
    assert shape.equal


def test_a_shape_without_gpus_is_refused():
    with pytest.raises(ValueError, match="at least one GPU"):
        Shape(8, 0)


def test_three_numbers_stay_apart():
    counts = idle_nodes_of([3, 3, 2], 8)
    assert idle_gpus(counts) == 8
    assert largest_block(counts) == 3
    assert not fits(counts, Shape.of_spec(8, 1))


def test_empty_nodes():
    assert when_empty(3, 4) == [0, 0, 0, 0, 3]


def can_place(idle: list[int], gpus_by_rank: tuple[int, ...]) -> bool:
    """Brute force: tries every node for every Worker."""
    if not gpus_by_rank:
        return True
    first, rest = gpus_by_rank[0], gpus_by_rank[1:]
    return any(
        can_place([*idle[:i], k - first, *idle[i + 1 :]], rest)
        for i, k in enumerate(idle)
        if k >= first and k not in idle[:i]
    )


@given(clusters(most=4), st.integers(1, 8), st.integers(1, 5))
def test_fits_equals_brute_force(cluster, gpus, workers):
    idle, size = cluster
    shape = Shape.of_spec(gpus, workers)
    assert fits(idle_nodes_of(idle, size), shape) == can_place(idle, shape.gpus_by_rank)


@given(clusters(most=3), st.integers(1, 50))
def test_custom_fits_equals_brute_force(cluster, gpus):
    idle, size = cluster
    shape = Shape.of_custom(gpus)
    assert fits(idle_nodes_of(idle, size), shape) == can_place(idle, shape.gpus_by_rank)


@given(clusters())
def test_custom_startable_is_the_exact_maximum(cluster):
    idle, size = cluster
    counts = idle_nodes_of(idle, size)
    largest = custom_startable(counts)
    fitting = [n for n in range(1, sum(idle) + 9) if fits(counts, Shape.of_custom(n))]
    assert fitting == list(range(1, largest + 1))
