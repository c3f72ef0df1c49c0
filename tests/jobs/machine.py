"""A pool with two teams in which anything may happen in any order, an engine without processes, and a clock
that only the machine moves. What has to hold after each step is in `tests.jobs.holding`."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from unittest import mock

from django.db import transaction
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engines.base import Phase, Protection, WorkerLook
from jobs.faults import faults_settle
from jobs.lifecycle import prioritize
from jobs.models import Attempt, Job
from jobs.reasons import reasons_read
from jobs.scheduling import queue_cycle, queue_tick
from jobs.services import RequestRefused, job_create, job_estimate, job_stop
from jobs.states import LIVE, PLACED, Priority, State
from pools.models import Flavor, Grant, Node, NodeState, Pool
from pools.services import node_set_state, pool_lock
from runs import watching
from tests.factories import make_pool, make_spec, make_team, make_user
from tests.jobs.holding import Watcher

BEGIN = datetime(2026, 3, 1, 8, tzinfo=UTC)
ALIVE = (Phase.STARTING, Phase.RUNNING)
OVERTAKE_MINUTES = 10
STATES = [NodeState.READY, NodeState.READY, NodeState.CORDONED, NodeState.DRAINED, NodeState.DOWN]
PAUSED = [False, False, False, True]
WISHES = st.tuples(
    st.sampled_from([0, 1]),
    st.sampled_from([(1, 1), (2, 1), (4, 1), (8, 1), (4, 2), (8, 2), (8, 3), (2, 3)]),
    st.sampled_from(["high", "normal", "normal", "low"]),
    st.sampled_from([0, 1, 2]),
    st.sampled_from(["single", "pytorch_ddp"]),
    st.sampled_from([None, None, 30]),
)


class Processes:
    """The engine: what it was told to start and to stop, by attempt and rank."""

    def __init__(self, clock):
        self.clock, self.looks, self.dying = clock, {}, set()

    def look(self, keys):
        return {key: tuple(self.looks.get(key, ())) for key in keys}

    def start(self, launch):
        known = {look.rank for look in self.looks.get(launch.key, ())}
        new = [WorkerLook(w.rank, Phase.STARTING) for w in launch.workers if w.rank not in known]
        self.looks[launch.key] = sorted([*self.looks.get(launch.key, ()), *new], key=lambda one: one.rank)

    def stop(self, key, grace_s):
        """Living ones are told to end; what never started will not."""
        self.dying.add(key)
        attempt = Attempt.objects.get(job__key=key.job, number=key.attempt)
        known = {look.rank for look in self.looks.get(key, ())}
        never = [
            WorkerLook(rank, Phase.EXITED, stopped=True, ended_at=self.now)
            for rank in attempt.workers.values_list("rank", flat=True)
            if rank not in known
        ]
        self.looks[key] = [*self.looks.get(key, ()), *never]

    def port_is_free(self, port):
        return True

    def protection(self):
        return Protection("bare")

    @property
    def now(self):
        return self.clock().timestamp()

    def alive(self):
        """Who lives, as (key, place in its looks)."""
        return [
            (key, i)
            for key, looks in self.looks.items()
            for i, look in enumerate(looks)
            if look.phase in ALIVE
        ]

    def change(self, key, i, **values):
        self.looks[key][i] = replace(self.looks[key][i], **values)

    def end(self, key, i, code):
        look = self.looks[key][i]
        began = look.started_at or self.now
        if code is None:
            self.change(key, i, phase=Phase.LOST, started_at=began)
            return
        stopped = key in self.dying and code != 0
        ended = {"started_at": began, "ended_at": self.now, "exit_code": code, "stopped": stopped}
        self.change(key, i, phase=Phase.EXITED, **ended)


class JobsMachine(RuleBasedStateMachine):
    """Each example is rolled back."""

    @initialize(
        strict=st.booleans(),
        limit=st.sampled_from([None, 4, 12]),
        wishes=st.lists(WISHES, min_size=3, max_size=6),
    )
    def begin(self, strict, limit, wishes):
        self.now = BEGIN
        self.transaction = transaction.atomic()
        self.transaction.__enter__()
        self.engine = Processes(lambda: self.now)
        self.patches = [
            mock.patch("django.utils.timezone.now", side_effect=lambda: self.now),
            mock.patch.object(watching, "engine_of", return_value=self.engine),
        ]
        for patch in self.patches:
            patch.start()
        self.teams = [make_team(), make_team()]
        self.users = [make_user(team, admin=True, high=True) for team in self.teams]
        self.pool = make_pool(
            *self.teams,
            nodes=3,
            discipline="strict_fifo" if strict else "best_effort_fifo",
            max_overtake_minutes=OVERTAKE_MINUTES,
        )
        Grant.objects.filter(team=self.teams[0]).update(max_gpus=limit)
        self.nodes = list(Node.objects.order_by("name"))
        self.watcher = Watcher(self.pool, lambda: self.now)
        self.settled = False
        for wish in wishes:
            self.create(wish)
        self.cycle()

    def teardown(self):
        if hasattr(self, "transaction"):
            for patch in self.patches:
                patch.stop()
            transaction.set_rollback(True)
            self.transaction.__exit__(None, None, None)

    def chosen(self, number, *states):
        """One of the jobs in these states, the oldest for 0; None if there is none."""
        jobs = list(Job.objects.filter(state__in=states).order_by("pk"))
        return jobs[number % len(jobs)] if jobs else None

    # -- people ----------------------------------------------------------------------------------

    @rule(wish=WISHES)
    def create(self, wish):
        """Right after a cycle, what the form says is what happens."""
        team, (gpus, workers), priority, restarts, framework, most = wish
        spec = make_spec(
            self.pool,
            team=self.teams[team].pk,
            gpus=gpus,
            workers=workers,
            priority=priority,
            framework=framework,
            auto_restart=restarts > 0,
            max_restarts=restarts or 1,
            max_queue_minutes=most,
        )
        judged = job_estimate(user=self.users[team], spec=spec) if self.settled else None
        try:
            job = job_create(user=self.users[team], spec=spec)
        except RequestRefused:
            return
        if judged is not None:
            self.cycle()
            assert (Job.objects.get(pk=job.pk).state == State.DEPLOYING) == judged.starts_now, judged.reason
        self.settled = False

    @precondition(lambda self: Job.objects.exists())
    @rule(number=st.integers(0, 9))
    def stop(self, number):
        job = self.chosen(number, *State)
        job_stop(job=job, actor=job.creator)
        self.settled = False

    @precondition(lambda self: Job.objects.exists())
    @rule(number=st.integers(0, 9), priority=st.sampled_from(list(Priority)))
    def prioritize(self, number, priority):
        job = self.chosen(number, State.QUEUED) or self.chosen(number, *State)
        waits = job.state == State.QUEUED and job.stop_requested_at is None
        assert prioritize(job.pk, priority, actor=job.creator) == waits
        self.settled = False

    # -- admins ----------------------------------------------------------------------------------

    @rule(place=st.sampled_from([0, 0, 1, 2]), state=st.sampled_from(STATES), look=st.booleans())
    def node_state(self, place, state, look):
        """Mostly of the node that is used most."""
        busiest = Node.objects.order_by("idle", "name")[place]
        node_set_state(nodes=Node.objects.filter(pk=busiest.pk), state=state)
        if look:
            faults_settle()
            watching.attend()
        self.settled = False

    @rule(
        team=st.sampled_from([0, 1]), limit=st.sampled_from([None, 0, 8, 16]), paused=st.sampled_from(PAUSED)
    )
    def rules_of_the_pool(self, team, limit, paused):
        Grant.objects.filter(pool=self.pool, team=self.teams[team]).update(max_gpus=limit)
        Pool.objects.filter(pk=self.pool.pk).update(paused=paused)
        self.settled = False

    # -- machines --------------------------------------------------------------------------------

    @precondition(lambda self: self.placed())
    @rule()
    def run(self):
        """All that was placed runs its command, unless it was told to end."""
        watching.attend()
        for key, i in self.engine.alive():
            if self.engine.looks[key][i].phase == Phase.STARTING and key not in self.engine.dying:
                self.engine.change(key, i, phase=Phase.RUNNING, started_at=self.engine.now)
        watching.attend()
        self.settled = False

    @precondition(lambda self: self.engine.alive())
    @rule(number=st.integers(0, 20), code=st.sampled_from([0, 1, 137, None]), whole=st.booleans())
    def end(self, number, code, whole):
        """A Worker, or all of its attempt, ends by itself; or nobody knows how (None)."""
        alive = self.engine.alive()
        chosen = alive[number % len(alive)]
        for key, i in alive:
            if (key, i) == chosen or (whole and key == chosen[0]):
                self.engine.end(key, i, code)

    @precondition(lambda self: self.engine.dying)
    @rule()
    def die(self):
        """Whoever was told to end has ended."""
        for key, i in self.engine.alive():
            if key in self.engine.dying:
                self.engine.end(key, i, 143)

    def placed(self):
        return Job.objects.filter(state__in=PLACED).exists()

    # -- the console -----------------------------------------------------------------------------

    @rule()
    def attend(self):
        watching.attend()
        self.settled = False

    @rule()
    def cycle(self):
        """Who goes on waiting has a reason, and who does not has none."""
        before = self.watcher.before_cycle()
        queue_cycle(self.pool.pk)
        self.watcher.after_cycle(before)
        self.settled = True
        waiting = Job.objects.waiting().filter(stop_requested_at=None)
        reasons = reasons_read(list(waiting))
        assert all(reasons.values()), reasons

    @rule(minutes=st.sampled_from([0, 0.2, 4, OVERTAKE_MINUTES + 1]))
    def tick(self, minutes):
        self.now += timedelta(minutes=minutes)
        before = self.watcher.before_cycle()
        queue_tick()
        if Job.objects.filter(pk__in=[job.pk for job in before.waiting], state__in=LIVE).exists():
            self.watcher.after_cycle(before)
        watching.attend()
        self.settled = False

    @rule(minutes=st.sampled_from([0.2, 4, OVERTAKE_MINUTES + 1]))
    def wait(self, minutes):
        self.now += timedelta(minutes=minutes)
        self.cycle()

    @invariant()
    def all_holds(self):
        if hasattr(self, "watcher"):
            pool_lock(pool_id=self.pool.pk)
            self.watcher.check(self.engine)
            assert Flavor.objects.filter(pool=self.pool).count() == 1
