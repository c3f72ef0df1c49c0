"""The picture of one flavor's nodes: a cell a GPU, a tile a node, or a bar for each number of idle GPUs.

Which of them is drawn depends on how many nodes there are, so that a thousand nodes cost no more than
a hundred. Bars need no node at all, only the kept counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pools.capacity import idle_gpus

MOST_ROWS = 16
MOST_TILES = 128
SHADES = 8
READY = "ready"  # the state of a node that takes Workers


class Scale(StrEnum):
    CELLS = "cells"
    TILES = "tiles"
    BARS = "bars"


class Use(StrEnum):
    IDLE = "idle"
    MINE = "mine"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Held:
    """GPUs of a node, by index, that one job holds. Of others' jobs nothing but the GPUs is known:
    `name`, `address` and `owner` are given where the job is the reader's own, and make it so."""

    gpus: tuple[int, ...]
    name: str = ""
    address: str = ""
    owner: str = ""

    @property
    def mine(self) -> bool:
        return bool(self.name)


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node with `gpus` GPUs. `address` is where more is told about it; empty: nowhere."""

    id: int
    name: str
    gpus: int
    idle: int
    state: str = READY
    held: tuple[Held, ...] = ()
    address: str = ""

    @property
    def mine(self) -> tuple[Held, ...]:
        return tuple(h for h in self.held if h.mine)

    @property
    def my_gpus(self) -> int:
        return sum(len(h.gpus) for h in self.mine)

    @property
    def other_gpus(self) -> int:
        return self.gpus - self.idle - self.my_gpus

    @property
    def shade(self) -> int:
        """0 where nothing is idle, 8 where everything is, and 1 … 7 in between."""
        if self.idle in (0, self.gpus):
            return SHADES if self.idle else 0
        return min(max(round(SHADES * self.idle / self.gpus), 1), SHADES - 1)


@dataclass(frozen=True, slots=True)
class Cell:
    """One GPU; `name` is the reader's job on it. `landing`: a Worker of the request would take it."""

    gpu: int
    use: Use
    name: str = ""
    landing: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    node: NodeView
    cells: tuple[Cell, ...]
    landing: bool


@dataclass(frozen=True, slots=True)
class Tile:
    node: NodeView
    landing: bool


@dataclass(frozen=True, slots=True)
class Bar:
    """How many nodes in service have `idle` GPUs idle, and on how many of them something would land.

    Heights are percents of the tallest bar; what is not empty can be seen.
    """

    idle: int
    nodes: int
    height: int
    landing: int = 0
    landing_height: int = 0


@dataclass(frozen=True, slots=True)
class Picture:
    """One of `rows`, `tiles` and `bars` is filled, as `scale` says. `whole` counts idle GPUs on nodes that
    are wholly idle, `out` nodes out of service, `landing` nodes on which something would land."""

    scale: Scale
    nodes: int
    in_service: int
    idle: int
    whole: int
    landing: int
    rows: tuple[Row, ...] = ()
    tiles: tuple[Tile, ...] = ()
    bars: tuple[Bar, ...] = ()

    @property
    def out(self) -> int:
        return self.nodes - self.in_service


def scale_of(nodes: int) -> Scale:
    """How so many nodes are drawn; for BARS they need not be read."""
    return Scale.CELLS if nodes <= MOST_ROWS else Scale.TILES if nodes <= MOST_TILES else Scale.BARS


def picture(
    nodes: Sequence[NodeView],
    idle_nodes: Sequence[int],
    landing: Mapping[int, int] | None = None,
    *,
    count: int | None = None,
    scale: Scale | None = None,
) -> Picture:
    """Draws the nodes of one flavor, in the order given.

    `landing` says by node id how many GPUs a request would take there (0: outline the node only).
    `count` is how many nodes there are, if `nodes` are not all of them: bars want those alone on which
    something lands. `scale` overrides the choice by number, for flavors that are drawn side by side.
    """
    landing = landing or {}
    count = max(len(nodes), sum(idle_nodes)) if count is None else count
    scale = scale or scale_of(count)
    return Picture(
        scale=scale,
        nodes=count,
        in_service=sum(idle_nodes),
        idle=idle_gpus(idle_nodes),
        whole=whole_idle_gpus(idle_nodes),
        landing=len(landing),
        rows=tuple(_row(n, landing) for n in nodes) if scale == Scale.CELLS else (),
        tiles=tuple(Tile(n, n.id in landing) for n in nodes) if scale == Scale.TILES else (),
        bars=_bars(idle_nodes, Counter(n.idle for n in nodes if n.id in landing))
        if scale == Scale.BARS
        else (),
    )


def whole_idle_gpus(idle_nodes: Sequence[int]) -> int:
    """Idle GPUs on nodes of which every GPU is idle."""
    return idle_nodes[-1] * (len(idle_nodes) - 1) if idle_nodes else 0


def _row(node: NodeView, landing: Mapping[int, int]) -> Row:
    by_gpu = {gpu: held for held in node.held for gpu in held.gpus}
    idle = [gpu for gpu in range(node.gpus) if gpu not in by_gpu]
    taken = set(idle[: landing.get(node.id, 0)])
    cells = tuple(_cell(gpu, by_gpu.get(gpu), gpu in taken) for gpu in range(node.gpus))
    return Row(node, cells, node.id in landing)


def _cell(gpu: int, held: Held | None, landing: bool) -> Cell:
    if held is None:
        return Cell(gpu, Use.IDLE, landing=landing)
    return Cell(gpu, Use.MINE if held.mine else Use.OTHER, held.name)


def bars_picture(idle_nodes: Sequence[int], landing: Sequence[int], count: int) -> Picture:
    """Bars from counts alone: `landing` says on how many nodes with k GPUs idle something would land (empty:
    on none), `count` how many nodes there are in service or not."""
    return Picture(
        scale=Scale.BARS,
        nodes=count,
        in_service=sum(idle_nodes),
        idle=idle_gpus(idle_nodes),
        whole=whole_idle_gpus(idle_nodes),
        landing=sum(landing),
        bars=_bars(idle_nodes, dict(enumerate(landing))),
    )


def _bars(idle_nodes: Sequence[int], landing: Mapping[int, int]) -> tuple[Bar, ...]:
    most = max(idle_nodes, default=0)
    lands = Counter(landing)

    def height(nodes: int) -> int:
        return max(round(100 * nodes / most), 2) if nodes else 0

    return tuple(
        Bar(k, nodes, height(nodes), lands[k], height(min(lands[k], nodes)))
        for k, nodes in enumerate(idle_nodes)
    )
