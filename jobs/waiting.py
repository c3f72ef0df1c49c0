"""The queue of a pool as a list: who waits, in which order, and why. A fixed number of queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import F, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from jobs.estimate import pool_state
from jobs.facts import Facts, WaitingFacts
from jobs.findings import Reason
from jobs.models import Job, WaitingTotal
from jobs.queue import Decision, PoolState, WaitingClass, decide
from jobs.queued import nodes_read
from jobs.reading import pool_facts, waiting_since
from jobs.states import Priority
from pools.capacity import Shape
from pools.models import Grant, Pool

SHOWN_JOBS = 50
OF_THE_TEAM = frozenset({"quota", "not_granted"})  # reasons that tell how another team stands


@dataclass(frozen=True, slots=True)
class Ahead:
    """The first job of a flavor that could run there but has to wait: until when others may overtake it;
    None: they may not."""

    until: datetime | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """One waiting job. Where it is another team's, `key`, `name` and `owner` are empty, and `limited` stands
    for a reason that would tell how that team stands. No reason: it starts at once, or at `not_before`."""

    place: int
    shape: Shape
    priority: Priority
    flavor: str
    since: datetime
    key: str
    name: str
    owner: str
    reason: Reason | None
    head: Ahead | None
    stopping: bool
    not_before: datetime | None
    limited: bool = False

    @property
    def mine(self) -> bool:
        return bool(self.key)

    @property
    def worker_gpus(self) -> int:
        return self.shape.worker_gpus


@dataclass(frozen=True, slots=True)
class Queue:
    """`rows` are the first of the queue; `jobs` and `gpus` count all of it, `my_more` the reader's that are
    not among the rows; `several_flavors` makes a row's flavor worth telling."""

    rows: tuple[Waiting, ...]
    jobs: int
    gpus: int
    my_more: int
    several_flavors: bool

    @property
    def more(self) -> int:
        return max(self.jobs - len(self.rows), 0)


def queue_read(*, pool: Pool, teams: Collection[int]) -> Queue:
    """The pool's queue for somebody who belongs to `teams`."""
    now = timezone.now()
    jobs = list(_first_jobs(pool))
    facts = pool_facts(pool, list(Grant.objects.filter(pool=pool)))
    nodes = nodes_read(_avoiding(job) for job in jobs)
    state = pool_state(Facts(now=now, teams=frozenset(teams), pool=facts, nodes=nodes), facts)
    reasons, heads = obstacles(state, [job for job in jobs if job.eligible_at <= now and not job.stopping])
    rows = []
    for place, job in enumerate(jobs, 1):
        row = _row(place, job, reasons.get(job.pk), heads.get(job.pk), now)
        rows.append(row if job.team_id in teams else _anonymous(row))
    totals = WaitingTotal.objects.filter(pool=pool)
    mine = totals.filter(team__in=teams).aggregate(n=Coalesce(Sum("jobs"), 0))["n"]
    gpus = Coalesce(Sum(F("jobs") * F("total_gpus")), 0)
    whole = totals.aggregate(all_jobs=Coalesce(Sum("jobs"), 0), all_gpus=gpus)
    my_more = max(mine - sum(row.mine for row in rows), 0)
    return Queue(tuple(rows), whole["all_jobs"], whole["all_gpus"], my_more, len(facts.flavors) > 1)


def _first_jobs(pool: Pool) -> QuerySet[Job]:
    waiting = Job.objects.waiting().filter(pool=pool).light().select_related("creator", "flavor")
    jobs: QuerySet[Job] = waiting.annotate(waiting_since=waiting_since())
    return jobs.order_by("priority", "pk")[:SHOWN_JOBS]


def _row(place: int, job: Job, reason: Reason | None, head: Ahead | None, now: datetime) -> Waiting:
    return Waiting(
        place=place,
        shape=job.shape,
        priority=Priority(job.priority),
        flavor=job.flavor.name,
        since=job.waiting_since,  # type: ignore[attr-defined]  # annotated
        key=job.key,
        name=job.name,
        owner=job.creator.username,
        reason=reason,
        head=head,
        stopping=job.stopping,
        not_before=job.eligible_at if job.eligible_at > now else None,
    )


def _anonymous(row: Waiting) -> Waiting:
    """What another team may know of the job: its size, its place, and whether it fits."""
    limited = row.reason is not None and row.reason.code in OF_THE_TEAM
    reason = None if limited else row.reason
    return replace(row, key="", name="", owner="", reason=reason, limited=limited)


def obstacles(state: PoolState, jobs: Sequence[Job]) -> tuple[dict[int, Reason], dict[int, Ahead]]:
    """By id, why each of the first jobs of a queue waits, and who of them is the head of a flavor.

    `jobs` are in the order of the queue. One decision answers for all of them: what holds for the first of
    a class that cannot start holds for those behind it.
    """
    decision = decide(state, _classes(jobs), most=len(jobs) + 1)
    order = {job.pk: place for place, job in enumerate(jobs)}
    started = {start.job for start in decision.starts}
    of_class: dict[object, Reason] = {}
    reasons: dict[int, Reason] = {}
    for job in jobs:
        own = _class_of(job)
        if job.pk in decision.reasons:
            of_class[own] = decision.reasons[job.pk]
        if job.pk not in started:
            reasons[job.pk] = _behind(decision, job, order) or of_class[own]
    return reasons, _heads(decision, state.max_overtake)


def _classes(jobs: Iterable[Job]) -> list[WaitingClass]:
    ids: dict[WaitingClass, list[int]] = defaultdict(list)
    for job in jobs:
        ids[_class_of(job)].append(job.pk)
    return [replace(key, jobs=jobs_of) for key, jobs_of in ids.items()]


def _class_of(job: Job) -> WaitingClass:
    """The class, with nobody in it."""
    return replace(job.waiting_class, jobs=())


def _avoiding(job: Job) -> WaitingFacts:
    own = job.waiting_class
    return WaitingFacts(own.flavor, own.priority, own.team, own.shape, 1, job.pk, avoided=own.avoided)


def _behind(decision: Decision, job: Job, order: Mapping[int, int]) -> Reason | None:
    head = decision.heads.get(job.flavor_id)
    if head is None or not head.blocks or order[head.job] >= order[job.pk]:
        return None
    return Reason("behind_head", {"head": head.job})


def _heads(decision: Decision, max_overtake: timedelta) -> dict[int, Ahead]:
    return {
        head.job: Ahead(None if head.blocks else head.since + max_overtake)
        for head in decision.heads.values()
    }
