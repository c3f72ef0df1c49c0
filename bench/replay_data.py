"""The replay's cluster and jobs: real nodes, real arrivals and GPU counts; running times are drawn.

The trace does not tell how long its jobs ran. Drawn with a fixed seed, log-normal with the median and mean of
Philly's GPU jobs (874 s and 18,006 s, as published with AcmeTrace), cut at a week.
"""

from __future__ import annotations

import csv
import gzip
import math
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pools.capacity import Shape, fits_empty

DATA = Path(__file__).parent / "data"
MEDIAN_S, MEAN_S, LONGEST_S = 874.0, 18_006.0, 7 * 86_400.0


@dataclass(frozen=True, slots=True)
class Kind:
    """Nodes of one kind: a flavor. Nodes are (name, id)."""

    gpus_per_node: int
    nodes: tuple[tuple[str, int], ...]

    @property
    def gpus(self) -> int:
        return self.gpus_per_node * len(self.nodes)


@dataclass(frozen=True, slots=True)
class Arrival:
    job: int
    at: float
    shape: Shape
    team: int
    runs_s: float
    flavor: int


def kinds_read() -> dict[int, Kind]:
    """The flavors by number: nodes of one GPU model and as many GPUs each."""
    by_kind: dict[tuple[str, int], list[tuple[str, int]]] = defaultdict(list)
    for number, row in enumerate(_rows("openb_nodes.csv.gz"), 1):
        by_kind[row["model"], int(row["gpus"])].append((row["name"], number))
    return {i: Kind(gpus, tuple(nodes)) for i, ((_, gpus), nodes) in enumerate(sorted(by_kind.items()), 1)}


def arrivals_read(kinds: dict[int, Kind], most: int, load: float) -> list[Arrival]:
    """The first arrivals, in order, each for a flavor that could hold it, more often for a larger one.

    Philly was a smaller cluster: time between arrivals is shortened until what arrives asks for `load`
    times the GPU time that the nodes have.
    """
    chance = random.Random(1)
    sigma = math.sqrt(2 * math.log(MEAN_S / MEDIAN_S))
    teams: dict[str, int] = {}
    drawn = []
    for row in _rows("philly_arrivals.csv.gz")[:most]:
        shape = Shape.of_custom(int(row["gpus"]))
        team = teams.setdefault(row["vc"], len(teams) + 1)
        runs_s = min(chance.lognormvariate(math.log(MEDIAN_S), sigma), LONGEST_S)
        drawn.append((float(row["arrival_s"]), shape, team, runs_s, _flavor(kinds, shape, chance)))
    asked = sum(shape.total_gpus * runs_s for _, shape, _, runs_s, _ in drawn)
    span = drawn[-1][0] - drawn[0][0]
    shorter = asked / (load * sum(kind.gpus for kind in kinds.values())) / span
    return [Arrival(job, at * shorter, *rest) for job, (at, *rest) in enumerate(drawn, 1)]


def _flavor(kinds: dict[int, Kind], shape: Shape, chance: random.Random) -> int:
    able = {i: k.gpus for i, k in kinds.items() if fits_empty(len(k.nodes), k.gpus_per_node, shape)}
    return chance.choices(list(able), weights=list(able.values()))[0]


def _rows(name: str) -> Sequence[dict[str, str]]:
    with gzip.open(DATA / name, "rt") as file:
        return list(csv.DictReader(file))
