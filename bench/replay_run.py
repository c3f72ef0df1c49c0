"""Arrivals in simulated time through the console's own queue: `jobs.queue.decide` with placement by node.

The ledger of idle GPUs is kept here, apart from what the queue believes, and every start is checked
against it. What a cycle is shown of the queue and the nodes is what `jobs.scheduling` shows it.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from bench.replay_data import Arrival, Kind
from jobs.queue import Decision, FlavorState, Head, PoolState, Quota, Start, WaitingClass, decide
from pools.capacity import fits, idle_nodes_of, startable
from pools.placement import IdleNode, Nodes

MOST_STARTS = 2000
NORMAL = 2
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
MAX_OVERTAKE = timedelta(minutes=60)


@dataclass
class Outcome:
    """What came of a replay. Waits in seconds by job; `starts` in the order in which they were decided."""

    waits: dict[int, float] = field(default_factory=dict)
    starts: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    gpu_seconds: float = 0.0
    until: float = 0.0


class Overcommitted(AssertionError):
    pass


class Overtaken(AssertionError):
    pass


class Replay:
    def __init__(self, kinds: dict[int, Kind], *, strict: bool, max_overtake: timedelta = MAX_OVERTAKE):
        self.kinds, self.strict, self.max_overtake = kinds, strict, max_overtake
        self.idle = {node: k.gpus_per_node for k in kinds.values() for _, node in k.nodes}
        self.home = {node: flavor for flavor, k in kinds.items() for _, node in k.nodes}
        self.counts = {
            f: idle_nodes_of([k.gpus_per_node] * len(k.nodes), k.gpus_per_node) for f, k in kinds.items()
        }
        self.waiting: dict[int, Arrival] = {}
        self.heads: dict[int, Head] = {}
        self.outcome = Outcome()

    def run(self, arrivals: Iterable[Arrival]) -> Outcome:
        """All arrivals until nobody waits. What ends at the same moment as another arrives, ends first."""
        events: list[tuple[float, int, int, Arrival, tuple[int, ...]]] = []
        last = 0.0
        for arrival in arrivals:
            heapq.heappush(events, (arrival.at, 1, arrival.job, arrival, ()))
            last = arrival.at
        while events:
            at, comes, _, job, nodes = heapq.heappop(events)
            if comes:
                self.waiting[job.job] = job
            else:
                self._give(job, nodes, +1)
            for start in self.cycle(at):
                begun = self._begin(start, at, last)
                heapq.heappush(events, (at + begun.runs_s, 0, begun.job, begun, start.nodes))
        assert not self.waiting, "jobs wait on an empty cluster"
        self.outcome.until = last
        return self.outcome

    def cycle(self, at: float) -> list[Start]:
        now = BEGIN + timedelta(seconds=at)
        classes = self._classes()
        state = PoolState(
            now=now,
            flavors={f: self._flavor(f, classes) for f in self.kinds},
            quotas=defaultdict(lambda: Quota(0), {job.team: Quota(0) for job in self.waiting.values()}),
            strict=self.strict,
            max_overtake=self.max_overtake,
        )
        decision = decide(state, classes, MOST_STARTS)
        assert not decision.more, "the cycle is larger than the replay allows for"
        self._check_order(decision)
        self.heads = decision.heads
        return decision.starts

    def _classes(self) -> list[WaitingClass]:
        by_class: dict[tuple[int, int, object], list[int]] = defaultdict(list)
        for job in self.waiting.values():
            by_class[job.flavor, job.team, job.shape].append(job.job)
        classes = []
        for (flavor, team, _), jobs in by_class.items():
            shape = self.waiting[jobs[0]].shape
            most = 1
            if fits(self.counts[flavor], shape):
                most += startable(self.counts[flavor], shape.worker_gpus) // max(shape.full_workers, 1)
            ids = sorted(jobs)
            classes.append(WaitingClass(flavor, NORMAL, team, shape, ids[:most], cut=len(ids) > most))
        return classes

    def _flavor(self, flavor: int, classes: list[WaitingClass]) -> FlavorState:
        kind, head = self.kinds[flavor], self.heads.get(flavor)
        wanted = any(c.flavor == flavor and fits(self.counts[flavor], c.shape) for c in classes)
        nodes = (IdleNode(name, node, self.idle[node]) for name, node in (kind.nodes if wanted else ()))
        return FlavorState(
            room=Nodes(nodes, kind.gpus_per_node),
            gpus_per_node=kind.gpus_per_node,
            schedulable=len(kind.nodes),
            nodes=len(kind.nodes),
            head_job=head.job if head else None,
            head_since=head.since if head else None,
        )

    def _check_order(self, decision: Decision) -> None:
        """Nobody starts before an older one of the flavor: never in strict order, else not for ever."""
        started = {start.job for start in decision.starts}
        left = {
            f: min(
                (j.job for j in self.waiting.values() if j.flavor == f and j.job not in started), default=0
            )
            for f in {start.flavor for start in decision.starts}
        }
        for start in decision.starts:
            oldest, head = left[start.flavor], decision.heads.get(start.flavor)
            if self.strict and oldest and start.job > oldest:
                raise Overtaken(f"{start.job} before {oldest}")
            if head is not None and head.blocks and start.job > head.job:
                raise Overtaken(f"{start.job} before {head.job}, which had waited for its turn for too long")

    def _begin(self, start: Start, at: float, last: float) -> Arrival:
        job = self.waiting.pop(start.job)
        assert (start.shape, len(start.nodes)) == (job.shape, job.shape.workers)
        if any(self.home[node] != job.flavor for node in start.nodes):
            raise Overcommitted(f"job {job.job} was put on nodes of another flavor")
        self._give(job, start.nodes, -1)
        self.outcome.waits[job.job] = at - job.at
        self.outcome.starts.append((job.job, start.nodes))
        self.outcome.gpu_seconds += job.shape.total_gpus * max(0.0, min(at + job.runs_s, last) - at)
        return job

    def _give(self, job: Arrival, nodes: tuple[int, ...], sign: int) -> None:
        size, counts = self.kinds[job.flavor].gpus_per_node, self.counts[job.flavor]
        for node, gpus in zip(nodes, job.shape.gpus_by_rank, strict=True):
            before, after = self.idle[node], self.idle[node] + sign * gpus
            if not 0 <= after <= size:
                raise Overcommitted(f"job {job.job}: {after} GPUs of node {node} idle, of {size}")
            counts[before] -= 1
            counts[after] += 1
            self.idle[node] = after
