"""The queue cycle: lock the pool, look, decide, apply, commit."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import NamedTuple

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from jobs.environment import needs_port
from jobs.facts import WaitingFacts
from jobs.faults import faults_settle
from jobs.findings import Reason
from jobs.hints import jobs_due
from jobs.lifecycle import move
from jobs.models import Attempt, Job, WaitingTotal, Worker
from jobs.queue import Decision, FlavorState, PoolState, Quota, Start, WaitingClass, avoided_text, decide
from jobs.queued import CLASS_FIELDS, eligible_jobs, marked_read, waiting_read
from jobs.states import State
from pools.bulk import Same, among, bulk_insert
from pools.capacity import fits, startable
from pools.models import Flavor, Node, Pool
from pools.placement import NONE, IdleNode, Nodes
from pools.services import Taken, gpus_choose, grant_change, holds_take, pool_lock

logger = logging.getLogger(__name__)

MOST_STARTS = 2000  # in one transaction
MOST_ROUNDS = 20  # in one call


def pools_with_waiting_jobs() -> list[int]:
    return list(WaitingTotal.objects.filter(jobs__gt=0).order_by().values_list("pool", flat=True).distinct())


def queue_tick() -> None:
    """Repairs whatever lost hints left undone; the trouble of one pool stays its own."""
    _guarded(stops_settle)
    _guarded(waits_end)
    _guarded(faults_settle)
    for pool_id in pools_with_waiting_jobs():
        _guarded(partial(queue_cycle, pool_id))


def _guarded(work: Callable[[], object]) -> None:
    try:
        work()
    except Exception:  # the other pools must not wait for this one
        logger.exception("a part of the queue's tick failed")


def stops_settle() -> list[int]:
    """Waiting jobs whose stop was asked for while they were on their way back to the queue."""
    asked = Job.objects.waiting().exclude(stop_requested_at=None).select_related("stop_requested_by")
    stopped = []
    for job in asked[:MOST_STARTS]:
        reason = Reason("stopped_by_user")
        stopped += move([job.pk], State.QUEUED, State.STOPPED, reason=reason, actor=job.stop_requested_by)
    return stopped


def waits_end() -> list[int]:
    """Stops the jobs that have waited for as long as their requests allow, the most overdue first."""
    overdue = Job.objects.filter(queue_until__lte=timezone.now(), stop_requested_at=None)
    by_limit: dict[int, list[int]] = defaultdict(list)
    for pk, limit in overdue.order_by("queue_until").values_list("pk", "max_queue_seconds")[:MOST_STARTS]:
        by_limit[limit or 0].append(pk)
    stopped = []
    for limit, jobs in by_limit.items():
        reason = Reason("queue_timeout", {"minutes": limit // 60})
        stopped += move(jobs, State.QUEUED, State.STOPPED, reason=reason)
    return stopped


def queue_cycle(pool_id: int) -> int:
    """Starts what can start in the pool; answers how many. Safe to run at any time, by several at once."""
    started = 0
    for _ in range(MOST_ROUNDS):
        count, more = _round(pool_id)
        started += count
        if not more:
            break
    return started


def _round(pool_id: int) -> tuple[int, bool]:
    with transaction.atomic():
        pool = pool_lock(pool_id=pool_id)
        waiting = waiting_read(pool_id)
        flavors = list(Flavor.objects.filter(pool=pool))
        classes = _classes(waiting, flavors)
        decision = decide(_pool_state(pool, flavors, classes), classes, MOST_STARTS)
        _keep_heads(pool, flavors, decision)
        started = _apply(pool, decision.starts)
    return started, decision.more


def _classes(waiting: Sequence[WaitingFacts], flavors: Iterable[Flavor]) -> list[WaitingClass]:
    """A class that cannot fit is known by its first job; of the others, as many as could start."""
    idle_nodes = {f.pk: f.idle_nodes for f in flavors}
    classes = []
    for w in waiting:
        if w.first is None:
            continue
        jobs: Sequence[int] = [w.first]
        if fits(idle_nodes[w.flavor], w.shape):
            room = startable(idle_nodes[w.flavor], w.shape.worker_gpus) // max(w.shape.full_workers, 1)
            most = min(room, MOST_STARTS) + 1
            shape, avoided = (w.shape.worker_gpus, w.shape.total_gpus), avoided_text(w.avoided)
            key = (w.flavor, w.priority, w.team, *shape, avoided)
            ids = eligible_jobs(**dict(zip(CLASS_FIELDS, key, strict=True)))
            jobs = list(ids.values_list("pk", flat=True)[:most])
        classes.append(
            WaitingClass(
                *(w.flavor, w.priority, w.team, w.shape, jobs),
                cut=w.jobs - w.later > len(jobs),
                avoided=w.avoided,
            )
        )
    return classes


def _pool_state(pool: Pool, flavors: Iterable[Flavor], classes: Sequence[WaitingClass]) -> PoolState:
    return PoolState(
        now=timezone.now(),
        flavors={f.pk: _flavor_state(f, classes) for f in flavors},
        quotas={g.team_id: Quota(g.held_gpus, g.max_gpus) for g in pool.grants.all()},
        strict=pool.discipline == "strict_fifo",
        paused=pool.paused,
        max_overtake=timedelta(minutes=pool.max_overtake_minutes),
    )


def _flavor_state(flavor: Flavor, classes: Sequence[WaitingClass]) -> FlavorState:
    """Nodes are read only where some class fits: a full flavor costs no rows."""
    mine = [c.shape for c in classes if c.flavor == flavor.pk and fits(flavor.idle_nodes, c.shape)]
    nodes = Node.objects.none().values_list("name", "pk", "idle")
    if mine:
        least = min(shape.remainder or shape.worker_gpus for shape in mine)
        nodes = Node.objects.filter(flavor=flavor, schedulable=True, idle__gte=least).values_list(
            "name", "pk", "idle"
        )
    marked = marked_read(flavor.pk, NONE.union(*(c.avoided for c in classes if c.flavor == flavor.pk)))
    return FlavorState(
        room=Nodes((IdleNode(*row) for row in nodes), flavor.gpus_per_node, marked),
        gpus_per_node=flavor.gpus_per_node,
        schedulable=sum(flavor.idle_nodes),
        nodes=flavor.node_count,
        head_job=flavor.head_job,
        head_since=flavor.head_since,
        marked=marked,
    )


def _keep_heads(pool: Pool, flavors: Iterable[Flavor], decision: Decision) -> None:
    """A cycle that did not come to a flavor's head says nothing about it: it stays who it was."""
    started = {start.job for start in decision.starts}
    for flavor in flavors:
        head = decision.heads.get(flavor.pk)
        unseen = head is None and (pool.paused or decision.more) and flavor.head_job not in started
        if unseen:
            continue
        job, since = (head.job, head.since) if head else (None, None)
        if (flavor.head_job, flavor.head_since) != (job, since):
            flavor.head_job, flavor.head_since = job, since
            flavor.save(update_fields=["head_job", "head_since"])


class Placed(NamedTuple):
    """A job that starts, and what its attempt needs."""

    start: Start
    number: int
    team: int
    port: int | None


def _apply(pool: Pool, starts: Sequence[Start]) -> int:
    """Writes attempts, Workers and holds of the jobs that start, and answers how many. The pool is locked."""
    placed = _with_ports(starts)
    if not placed:
        return 0
    moved = move([p.start.job for p in placed], State.QUEUED, State.DEPLOYING)
    if len(moved) != len(placed):
        raise RuntimeError("a waiting job left the queue while its pool was locked")
    attempts = bulk_insert(
        Attempt,
        {
            "job": [p.start.job for p in placed],
            "number": [p.number for p in placed],
            "port": [p.port for p in placed],
            "port_settled": Same(False),
            "placed_at": Same(timezone.now()),
        },
        returning=("job", "id"),
    )
    _place_workers([p.start for p in placed], dict(attempts))
    gpus_by_team: Counter[int] = Counter()
    for p in placed:
        gpus_by_team[p.team] += p.start.shape.total_gpus
    grant_change(pool=pool, gpus_by_team=gpus_by_team)
    jobs_due([p.start.job for p in placed])
    return len(placed)


def _place_workers(starts: Sequence[Start], attempts: dict[int, int]) -> None:
    rows = [
        (attempts[start.job], rank, node, gpus)
        for start in starts
        for rank, (node, gpus) in enumerate(zip(start.nodes, start.shape.gpus_by_rank, strict=True))
    ]
    gpus = gpus_choose(wanted=[Taken(node, count) for _, _, node, count in rows])
    names = dict(Node.objects.filter(pk__in={node for _, _, node, _ in rows}).values_list("pk", "name"))
    workers = bulk_insert(
        Worker,
        {
            "attempt": [attempt for attempt, _, _, _ in rows],
            "rank": [rank for _, rank, _, _ in rows],
            "node": [node for _, _, node, _ in rows],
            "node_name": [names[node] for _, _, node, _ in rows],
            "gpus": gpus,
        },
        returning=("attempt", "rank", "id"),
    )
    ids = {(attempt, rank): pk for attempt, rank, pk in workers}
    holds_take(
        worker_ids=[ids[attempt, rank] for attempt, rank, _, _ in rows],
        nodes=[node for _, _, node, _ in rows],
        gpus=gpus,
    )


def _with_ports(starts: Sequence[Start]) -> list[Placed]:
    """Gives each job that needs one a port, free among the attempts that have not ended: also where its
    Workers meet for nothing but the environment check.

    Where none is left the job stays in the queue, which is worth a warning and no more: ports come back.
    """
    rows = Job.objects.filter(among(start.job for start in starts))
    fields = ("pk", "attempt", "team", "framework", "env_check")
    jobs = {pk: rest for pk, *rest in rows.values_list(*fields)}
    wanting = {start.job for start in starts if _wants_port(start, *jobs[start.job][2:])}
    free: Iterator[int] = iter(())
    if wanting:
        used = set(Attempt.objects.filter(ended_at=None).exclude(port=None).values_list("port", flat=True))
        free = iter([port for port in settings.PORTS if port not in used])
    placed = []
    for start in starts:
        attempt, team = jobs[start.job][:2]
        port = next(free, None) if start.job in wanting else None
        if start.job in wanting and port is None:
            logger.warning("no port of %s is left: job %s goes on waiting", settings.PORTS, start.job)
            continue
        placed.append(Placed(start, attempt + 1, team, port))
    return placed


def _wants_port(start: Start, framework: str, env_check: bool) -> bool:
    return needs_port(framework) or (env_check and start.shape.workers > 1)
