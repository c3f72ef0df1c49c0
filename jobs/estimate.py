"""What would happen to a request now: the one answer behind the page, `dry_run` and the creation itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jobs.advice import advise
from jobs.command.exits import exit_findings
from jobs.command.paths import absolute_paths
from jobs.command.secrets import in_command
from jobs.environment import DEFAULT_MASTER_PORT, Rank, injected
from jobs.facts import Facts, FlavorFacts, NodesFacts, PoolFacts, WaitingFacts
from jobs.findings import Change, Finding, Level, Reason
from jobs.queue import FlavorState, PoolState, Quota, WaitingClass, decide
from jobs.rules import check, flavor_of, rdma_allowed, spec_of
from jobs.rules.alerts import no_alert
from jobs.rules.resources import resources
from jobs.spec import JobSpec
from jobs.states import PRIORITY_CODES, Framework, Priority
from pools.capacity import Shape, custom_startable, fits_empty, idle_gpus, startable
from pools.placement import Counts, IdleNode, Nodes

NEW_JOB = 2**62  # younger than every job there is
SHOWN_RANKS = 8


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """Where in the queue: `ahead` jobs with `gpus_ahead` GPUs are before it, its `position` counts from 1."""

    position: int
    ahead: int
    gpus_ahead: int


@dataclass(frozen=True, slots=True)
class Promise:
    """What somebody was shown before they agreed: a start at once, or else a place in the queue and why."""

    position: int | None = None  # None: starts at once
    reason: str = ""  # a code; for want of room is the best of them

    def kept_by(self, judged: Estimate) -> bool:
        """Whether a request that is judged so does at least as well."""
        if judged.starts_now:
            return True
        if self.position is None or judged.queue is None or judged.queue.position > self.position:
            return False
        return judged.reason is None or judged.reason.code in (self.reason, "capacity")


@dataclass(frozen=True, slots=True)
class WorkerPlace:
    """A Worker, its GPUs, and the node it would land on now (None: not known, or it would wait)."""

    rank: int
    gpus: int
    node: str | None


@dataclass(frozen=True, slots=True)
class Alternative:
    """A nearby request that starts now: which fields of the request to change, and to what.

    `startable` counts as in the estimate of the changed request. `notes` tell what becomes different, for the
    script above all. Found by `jobs.alternatives`.
    """

    changes: Mapping[str, Any]
    shape: Shape
    unit: str
    startable: int
    notes: tuple[Change, ...] = ()
    starts_now: bool = True


@dataclass(frozen=True, slots=True)
class Estimate:
    """`startable` and `wanted` count Workers, or GPUs where `unit` says so. Fields that the request
    does not yet determine are None."""

    valid: bool
    unit: str
    startable: int | None
    wanted: int | None
    worker_count: int | None
    starts_now: bool
    total_gpus: int | None
    idle_gpus: int | None
    workers: tuple[WorkerPlace, ...]
    queue: QueuePlace | None
    reason: Reason | None
    rdma_allowed: bool
    environment_common: dict[str, str | None]
    environment_ranks: tuple[dict[str, str | None], ...]
    findings: tuple[Finding, ...]
    alternatives: tuple[Alternative, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.level == Level.ERROR)


def estimate(spec: JobSpec, facts: Facts, ranks: int = SHOWN_RANKS) -> Estimate:
    """Judges the request; `ranks` limits how many Workers are listed."""
    pool = facts.pool
    flavor = flavor_of(spec, pool) if pool else None
    worker_spec = spec_of(spec, pool) if pool else None
    shape = spec.shape(worker_spec.gpus if worker_spec else None)
    reason = None
    if pool and flavor and shape:
        reason = _reason(spec, facts, pool, flavor, shape)
    checked = check(spec, facts)
    advice = [] if any(map(beyond_bounds, checked)) else advise(spec, facts, shape)
    hint = no_alert(spec, shape, waits=reason is not None)
    findings = [*checked, *advice, *hint, *_never(spec, shape, flavor, facts)]
    valid = not any(f.level == Level.ERROR for f in findings)
    starts_now = valid and reason is None
    common, by_rank = preview(spec, shape, ranks)
    return Estimate(
        valid=valid,
        unit="gpus" if spec.custom else "workers",
        startable=startable_of(spec, flavor, shape),
        wanted=None if shape is None else shape.total_gpus if spec.custom else shape.workers,
        worker_count=shape.workers if shape else None,
        starts_now=starts_now,
        total_gpus=shape.total_gpus if shape else None,
        idle_gpus=sum(idle_gpus(f.idle_nodes) for f in pool.flavors.values()) if pool else None,
        workers=_workers(shape, ranks),
        queue=queue_place(facts.waiting, _priority(spec)) if pool else None,
        reason=reason,
        rdma_allowed=pool is not None and rdma_allowed(spec, pool),
        environment_common=common,
        environment_ranks=by_rank,
        findings=tuple(findings),
    )


def read_ahead(spec: JobSpec) -> None:
    """Does what takes long in judging a request and depends on its texts alone; `estimate` finds it kept.

    For the moment before a lock is taken: a command may be so made that this takes seconds.
    """
    exit_findings(spec.command)
    in_command(spec.command)
    absolute_paths(spec.command, spec.env)


def finds_room(spec: JobSpec, facts: Facts) -> bool:
    """Whether the request would start now as far as pool, Workers and queue decide: what is missing or wrong
    in its other fields is not looked at."""
    pool = facts.pool
    flavor = flavor_of(spec, pool) if pool else None
    worker_spec = spec_of(spec, pool) if pool else None
    shape = spec.shape(worker_spec.gpus if worker_spec else None)
    if pool is None or flavor is None or shape is None:
        return False
    found = [*resources(spec, facts), *_never(spec, shape, flavor, facts)]
    return all(f.level != Level.ERROR for f in found) and _reason(spec, facts, pool, flavor, shape) is None


def pool_state(facts: Facts, pool: PoolFacts) -> PoolState:
    """The pool as the queue sees it, with room that counts and names no nodes."""
    return PoolState(
        now=facts.now,
        flavors={f.id: _flavor_state(f, facts.nodes.get(f.id)) for f in pool.flavors.values()},
        quotas={team: Quota(q.held, q.limit) for team, q in pool.quotas.items()},
        strict=pool.strict,
        paused=pool.paused,
        max_overtake=pool.max_overtake,
    )


def _flavor_state(flavor: FlavorFacts, nodes: NodesFacts | None) -> FlavorState:
    return FlavorState(
        room=Counts(flavor.idle_nodes, nodes.idle if nodes else None),
        gpus_per_node=flavor.gpus_per_node,
        schedulable=sum(flavor.idle_nodes),
        nodes=flavor.node_count,
        head_job=flavor.head_job,
        head_since=flavor.head_since,
        marked=nodes.marked if nodes else {},
    )


def waiting_reason(facts: Facts, pool: PoolFacts, mine: WaitingClass) -> Reason | None:
    """Why the one job of the class `mine` waits; None if the next cycle starts it."""
    state = pool_state(facts, pool)
    job = mine.jobs[0]
    place = (mine.priority, job)
    ahead = [
        _class_of(w, state)
        for w in facts.waiting
        if w.jobs and w.first is not None and (w.priority, w.first) < place
    ]
    return decide(state, [*ahead, mine], most=2**31).reasons.get(job)


def queue_place(waiting: Sequence[WaitingFacts], priority: int) -> QueuePlace:
    """The place behind all waiting jobs of the same or a higher priority."""
    ahead = [w for w in waiting if w.priority <= priority]
    jobs = sum(w.jobs for w in ahead)
    return QueuePlace(jobs + 1, jobs, sum(w.jobs * w.shape.total_gpus for w in ahead))


def preview(
    spec: JobSpec, shape: Shape | None, ranks: int
) -> tuple[dict[str, str | None], tuple[dict[str, str | None], ...]]:
    """Variables equal in all Workers, and those of each. None: private, or known only once placed."""
    common: dict[str, str | None] = {v.name: None if v.private else v.value for v in spec.env}
    if shape is None or spec.framework not in set(Framework):
        return common, ()
    by_rank: list[dict[str, str | None]] = []
    for rank in range(min(shape.workers, ranks)):
        values = injected(
            spec.framework, Rank("", 1, rank, (), shape.workers, "127.0.0.1", DEFAULT_MASTER_PORT)
        )
        by_rank.append({name: value or None for name, value in values.items()})
    different = {"TRAINYARD_WORKER", "RANK", "CUDA_VISIBLE_DEVICES"}
    common |= {name: value for name, value in by_rank[0].items() if name not in different}
    return common, tuple({n: v for n, v in values.items() if n in different} for values in by_rank)


def _reason(spec: JobSpec, facts: Facts, pool: PoolFacts, flavor: FlavorFacts, shape: Shape) -> Reason | None:
    mine = WaitingClass(flavor.id, _priority(spec), spec.team or 0, shape, (NEW_JOB,))
    return waiting_reason(facts, pool, mine)


def _class_of(waiting: WaitingFacts, state: PoolState) -> WaitingClass:
    """The class with as many ids as could start at most, and one more that shows what stands in its way."""
    room = startable(state.flavors[waiting.flavor].room.idle_nodes, waiting.shape.worker_gpus)
    count = min(waiting.jobs - waiting.later, room + 1)
    jobs = (waiting.first or 0,) * count
    return WaitingClass(
        waiting.flavor, waiting.priority, waiting.team, waiting.shape, jobs, avoided=waiting.avoided
    )


def _priority(spec: JobSpec) -> int:
    return Priority.of(spec.priority) if spec.priority in PRIORITY_CODES else Priority.NORMAL


def _never(spec: JobSpec, shape: Shape | None, flavor: FlavorFacts | None, facts: Facts) -> Iterator[Finding]:
    """What can never run here is refused, whatever keeps it from running now."""
    if shape is None or flavor is None or facts.pool is None:
        return
    field = "custom_gpus" if spec.custom else "worker_count"
    if not fits_empty(flavor.node_count, flavor.gpus_per_node, shape):
        data = {"workers": shape.workers, "total_gpus": shape.total_gpus}
        yield Finding("never_fits", field, data=data)
    quota = facts.pool.quotas.get(spec.team or 0)
    if quota and quota.limit is not None and shape.total_gpus > quota.limit:
        yield Finding("over_quota", field, data={"limit": quota.limit, "wanted": shape.total_gpus})


def beyond_bounds(finding: Finding) -> bool:
    """Whether it refuses so much of what second looks go through that none are taken."""
    of_advice = finding.field.partition(".")[0] in ("command", "env", "mounts")
    return of_advice and finding.code in ("too_many", "too_long")


def startable_of(spec: JobSpec, flavor: FlavorFacts | None, shape: Shape | None) -> int | None:
    """How many such Workers, or how many GPUs of a custom count, there is room for now."""
    if flavor is None:
        return None
    if spec.custom:
        return custom_startable(flavor.idle_nodes)
    return startable(flavor.idle_nodes, shape.worker_gpus) if shape else None


def _workers(shape: Shape | None, ranks: int) -> tuple[WorkerPlace, ...]:
    gpus_by_rank = shape.gpus_by_rank[:ranks] if shape else ()
    return tuple(WorkerPlace(rank, gpus, None) for rank, gpus in enumerate(gpus_by_rank))


def landed(judged: Estimate, landing: Sequence[IdleNode]) -> Estimate:
    """The same with the nodes on which best fit would put its Workers now, chosen among `landing`."""
    nodes = Nodes(landing, max((node.idle for node in landing), default=0))
    names = {node.id: node.name for node in landing}
    places = []
    for worker in judged.workers:
        fits = nodes.fits(Shape(worker.gpus, worker.gpus))
        places.append(replace(worker, node=names[nodes.take_one(worker.gpus)] if fits else None))
    return replace(judged, workers=tuple(places))
