"""How a flavor's nodes are drawn at each of the three scales."""

import pytest

from pools.picture import Held, NodeView, Scale, Use, picture, scale_of, whole_idle_gpus


def node(pk, idle=8, gpus=8, **fields):
    return NodeView(pk, f"n-{pk:03}", gpus, idle, **fields)


@pytest.mark.parametrize(
    ("nodes", "scale"),
    [
        (0, Scale.CELLS),
        (1, Scale.CELLS),
        (16, Scale.CELLS),
        (17, Scale.TILES),
        (128, Scale.TILES),
        (129, Scale.BARS),
        (10_000, Scale.BARS),
    ],
)
def test_the_scale_follows_from_the_number_of_nodes(nodes, scale):
    assert scale_of(nodes) == scale
    assert picture([], [0] * 8 + [nodes]).scale == scale


def test_nodes_out_of_service_count_for_the_scale_too():
    drawn = picture([], [0] * 8 + [127], count=130)
    assert (drawn.scale, drawn.nodes, drawn.in_service, drawn.out) == (Scale.BARS, 130, 127, 3)


def test_flavors_side_by_side_are_drawn_alike():
    assert picture([node(1)], [0] * 8 + [1], scale=Scale.TILES).tiles[0].node.id == 1


def test_cells_tell_mine_from_others_and_name_only_mine():
    held = (Held((0, 3)), Held((1,), "train", "/jobs/jo-1/", "alice"))
    (row,) = picture([node(1, idle=1, gpus=5, held=held)], [0, 1, 0, 0, 0, 0]).rows
    assert [c.use for c in row.cells] == [Use.OTHER, Use.MINE, Use.IDLE, Use.OTHER, Use.IDLE]
    assert [c.name for c in row.cells] == ["", "train", "", "", ""]
    assert [h.name for h in row.node.mine] == ["train"]


def test_gpus_are_counted_by_whose_they_are():
    held = (Held((0, 1, 2)), Held((3,), "a"), Held((4, 5), "b"))
    seen = node(1, idle=2, held=held)
    assert (seen.my_gpus, seen.other_gpus, seen.idle) == (3, 3, 2)


def test_landing_takes_the_first_idle_gpus_of_its_node():
    held = (Held((0, 2)),)
    first, second, third = picture(
        [node(1, idle=6, held=held), node(2), node(3)], [0, 0, 0, 0, 0, 0, 1, 0, 2], {1: 2, 2: 0}
    ).rows
    assert [c.gpu for c in first.cells if c.landing] == [1, 3]
    assert first.landing
    assert second.landing  # outlined as a whole, no GPU chosen
    assert not any(c.landing for c in second.cells)
    assert not third.landing


@pytest.mark.parametrize(
    ("idle", "gpus", "shade"),
    [(0, 8, 0), (1, 8, 1), (5, 8, 5), (7, 8, 7), (8, 8, 8), (1, 1, 8), (2, 4, 4), (1, 64, 1), (63, 64, 7)],
)
def test_a_shade_is_full_only_where_all_is_idle(idle, gpus, shade):
    assert node(1, idle, gpus).shade == shade


def test_a_tile_a_node():
    nodes = [node(pk) for pk in range(17)]
    drawn = picture(nodes, [0] * 8 + [17], {3: 8, 5: 1})
    assert [t.node.id for t in drawn.tiles if t.landing] == [3, 5]
    assert (len(drawn.tiles), drawn.rows, drawn.bars, drawn.landing) == (17, (), (), 2)


def test_bars_need_the_counts_alone():
    drawn = picture([], [100, 1, 0, 0, 50, 0, 0, 0, 99])
    assert [b.nodes for b in drawn.bars] == [100, 1, 0, 0, 50, 0, 0, 0, 99]
    assert [b.height for b in drawn.bars] == [100, 2, 0, 0, 50, 0, 0, 0, 99]
    assert (drawn.idle, drawn.whole, drawn.in_service) == (1 + 200 + 792, 792, 250)


def test_bars_show_on_which_nodes_something_lands():
    lands = [node(1, idle=4), node(2, idle=8), node(3, idle=8)]
    drawn = picture(lands, [0, 0, 0, 0, 1, 0, 0, 0, 199], {1: 4, 2: 8, 3: 8})
    assert [(b.idle, b.landing) for b in drawn.bars if b.landing] == [(4, 1), (8, 2)]
    assert drawn.bars[8].landing_height == 2  # seen, however few they are
    assert drawn.landing == 3


def test_bars_are_as_many_as_numbers_of_idle_gpus_whatever_the_pool():
    assert len(picture([], [0] * 8 + [64_000]).bars) == 9


@pytest.mark.parametrize(
    ("idle_nodes", "whole"),
    [([], 0), ([3], 0), ([0, 2], 2), ([1, 1, 1, 1, 1, 1, 1, 1, 6], 48), ([0, 0, 0, 3, 0, 0, 0, 0, 0], 0)],
)
def test_idle_gpus_on_wholly_idle_nodes(idle_nodes, whole):
    assert whole_idle_gpus(idle_nodes) == whole


def test_no_nodes_is_no_error():
    drawn = picture([], [])
    assert (drawn.rows, drawn.nodes, drawn.idle, drawn.whole) == ((), 0, 0, 0)
