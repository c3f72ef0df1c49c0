"""What has to hold of a pool and its jobs at any time, told anew from the rows and from what was before."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

from engines.base import AttemptKey, Phase
from jobs.counting import counts_compare
from jobs.models import Attempt, Job, JobEvent, Worker
from jobs.queue import avoided_ids
from jobs.states import MOVES, PLACED, TERMINAL, State
from pools.capacity import fits_empty
from pools.models import Flavor, Grant, Hold, Node, NodeState, Pool

STATE_OF = {"created": "queued", "restarted": "queued", "requeued": "queued"} | {
    str(s): str(s) for s in State
}
ALIVE = (Phase.STARTING, Phase.RUNNING)


@dataclass(frozen=True)
class Before:
    """What was there before a cycle: who waited, and what the teams held."""

    waiting: list[Job]
    held: dict[int, int]
    paused: bool
    head: tuple


class Watcher:
    """Keeps what must not change, and whom the queue let wait at its head."""

    def __init__(self, pool, clock):
        self.pool, self.clock = pool, clock
        self.ended: dict[int, tuple] = {}
        self.held: dict[int, int] = {}
        self.first_head = None  # by this file's own reckoning: the job, and since when

    def check(self, engine):
        assert counts_compare(pool_id=self.pool.pk) == []
        self._holds()
        self._processes(engine)
        self._histories()
        self._ends()
        self._quotas()

    def _holds(self):
        live = Worker.objects.filter(attempt__ended_at=None)
        held = Counter(Hold.objects.values_list("worker_id", flat=True))
        assert held == {worker.pk: len(worker.gpus) for worker in live}
        assert {(h.node_id, h.gpu, h.worker_id) for h in Hold.objects.all()} == {
            (worker.node_id, gpu, worker.pk) for worker in live for gpu in worker.gpus
        }
        attempts = Counter(Attempt.objects.filter(ended_at=None).values_list("job", flat=True))
        assert attempts == Counter(Job.objects.filter(state__in=PLACED).values_list("pk", flat=True))

    def _processes(self, engine):
        """GPUs are given back only when nothing runs on them any more."""
        placed = {AttemptKey(j.key, j.attempt) for j in Job.objects.filter(state__in=PLACED)}
        assert {key for key, looks in engine.looks.items() if any(w.phase in ALIVE for w in looks)} <= placed

    def _histories(self):
        states = dict(Job.objects.values_list("pk", "state"))
        history: dict[int, list[str]] = {pk: [] for pk in states}
        for job, code in JobEvent.objects.order_by("pk").values_list("job", "code"):
            history[job].append(code)
        for job, codes in history.items():
            steps = [State(STATE_OF[code]) for code in codes if code in STATE_OF]
            assert steps[0] == State.QUEUED
            assert all(new in MOVES[old] for old, new in pairwise(steps)), codes
            assert steps[-1] == states[job], codes
            if "stop_requested" in codes:
                later = codes[codes.index("stop_requested") + 1 :]
                assert not {"restarted", "requeued", "deploying", "stop_requested"} & set(later), codes

    def _ends(self):
        fields = ("state", "reason", "exit_code", "ended_at", "attempt", "restarts", "platform_restarts")
        now = {row[0]: row[1:] for row in Job.objects.filter(state__in=TERMINAL).values_list("pk", *fields)}
        assert {pk: now.get(pk) for pk in self.ended} == self.ended
        self.ended = now
        for job in Job.objects.all():
            assert job.restarts <= job.max_restarts
            assert job.platform_restarts <= 5

    def _quotas(self):
        for grant in Grant.objects.filter(pool=self.pool):
            grew = grant.held_gpus > self.held.get(grant.team_id, 0)
            assert not (grew and grant.max_gpus is not None and grant.held_gpus > grant.max_gpus)
            self.held[grant.team_id] = grant.held_gpus

    # -- the queue -------------------------------------------------------------------------------

    def before_cycle(self):
        now = self.clock()
        waiting = Job.objects.waiting().filter(stop_requested_at=None, eligible_at__lte=now)
        flavor = Flavor.objects.get(pool=self.pool)
        return Before(
            list(waiting.order_by("priority", "pk")),
            dict(Grant.objects.filter(pool=self.pool).values_list("team", "held_gpus")),
            Pool.objects.get(pk=self.pool.pk).paused,
            (flavor.head_job, flavor.head_since),
        )

    def after_cycle(self, before):
        """Reckons who was the first that could run and had to wait; nobody behind it may have started once
        it had waited there for the bound."""
        states = dict(Job.objects.values_list("pk", "state"))
        waiting = [
            job for job in before.waiting if states[job.pk] not in TERMINAL
        ]  # some waited for too long
        started = [job for job in waiting if states[job.pk] == State.DEPLOYING]
        if before.paused:
            assert started == []
            return
        self._apart(started)
        pool, now = Pool.objects.get(pk=self.pool.pk), self.clock()
        head = self._head(waiting, before.held, {job.pk for job in started})
        flavor = Flavor.objects.get(pool=self.pool)
        assert flavor.head_job == (head.pk if head else None)
        if head is None:
            self.first_head = None
            return
        same = self.first_head is not None and self.first_head[0] == head.pk
        since = self.first_head[1] if same else now
        self.first_head = (head.pk, since)
        assert flavor.head_since == since
        bound = timedelta(minutes=pool.max_overtake_minutes)
        if pool.discipline == "strict_fifo" or now - since > bound:
            place = (head.priority, head.pk)
            assert [job.pk for job in started if (job.priority, job.pk) > place] == []

    def _head(self, waiting, held, started):
        held = dict(held)
        limits = dict(Grant.objects.filter(pool=self.pool).values_list("team", "max_gpus"))
        for job in waiting:
            if job.pk in started:
                held[job.team_id] += job.total_gpus
                continue
            limit = limits[job.team_id]
            within = limit is None or held[job.team_id] + job.total_gpus <= limit
            ready = Node.objects.filter(state=NodeState.READY).exclude(pk__in=self._left_out(job)).count()
            if within and fits_empty(ready, 8, job.shape):
                return job
        return None

    def _left_out(self, job):
        """The nodes that the job avoids, if all the others together could hold it."""
        avoided = avoided_ids(job.avoided)
        others = Node.objects.exclude(pk__in=avoided).count()
        return avoided if fits_empty(others, 8, job.shape) else frozenset()

    def _apart(self, started):
        for job in started:
            nodes = Worker.objects.filter(attempt__job=job, attempt__ended_at=None).values_list(
                "node", "node__state"
            )
            assert {state for _, state in nodes} == {NodeState.READY}
            assert not {node for node, _ in nodes} & self._left_out(job)
