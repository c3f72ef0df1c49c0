"""What deserves a person's attention now. The start page shows the beginning of it, the alerts page all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import Count, F, Min, OuterRef, Q, QuerySet, Subquery, Sum
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise

from alerts.models import Channel, Delivery
from alerts.reading import newest
from alerts.repeating import NOT_ARRIVED, WITHIN
from console.texts import (
    OUT_OF_SERVICE,
    TITLES,
    channel_text,
    deploying_text,
    ending_text,
    hanging_text,
    out_of_service_text,
    paused_text,
    waiting_text,
)
from jobs.models import Attempt, Job
from jobs.present import present_of
from jobs.querysets import LARGE_FIELDS, JobQuerySet
from jobs.reading import waiting_since
from jobs.reasons import reasons_read
from jobs.states import State
from jobs.texts import reason_text
from pools.models import Node, NodeState, Pool
from pools.querysets import PoolQuerySet
from pools.reading import SOON_DAYS
from teams.models import Team, User

FAILED_WITHIN = timedelta(days=7)
LONG_WAIT = timedelta(minutes=30)
LONG_DEPLOY = timedelta(minutes=10)
MOST = 20  # notes of one kind
POOL_OF_NODE = ("flavor__pool", "flavor__pool__name")


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose things are shown: those of one team of the person, or of all of them (None)."""

    user: User
    team: Team | None

    def jobs(self, *, mine: bool = False) -> JobQuerySet:
        jobs: JobQuerySet = Job.objects.for_user(self.user, self.team)
        return jobs.filter(creator=self.user) if mine else jobs

    def pools(self) -> PoolQuerySet:
        pools: PoolQuerySet = Pool.objects.for_user(self.user, self.team)
        return pools


@dataclass(frozen=True, slots=True)
class Note:
    """Something to look at; `key`, `at` and `who` only of jobs. `counts` things, such as nodes of a pool."""

    title: str
    address: str
    text: str
    key: str = ""
    at: datetime | None = None
    who: str = ""
    counts: int = 1


@dataclass(frozen=True, slots=True)
class Group:
    """Notes of one kind. `more`: there are further ones than those."""

    kind: str
    notes: Sequence[Note]
    more: bool = False

    @property
    def title(self) -> Promise:
        return TITLES[self.kind]

    @property
    def first(self) -> Sequence[Note]:
        """What the start page shows of it."""
        return self.notes[: 2 if self.kind == "failed" else 1]

    @property
    def count(self) -> str:
        counted = sum(note.counts for note in self.notes)
        return f"{counted}+" if self.more else str(counted)


def attention_read(scope: Scope, *, mine: bool) -> list[Group]:
    """The kinds of which there is something, in a fixed number of queries; `mine`: without jobs of others."""
    now = timezone.now()
    jobs = scope.jobs(mine=mine).light().select_related("creator")
    pools = list(scope.pools().order_by("name"))
    groups = [
        _jobs("failed", _failed(jobs, now), _failed_note),
        _hanging(jobs, now),
        _waiting(jobs, now),
        _jobs("deploying", _deploying(jobs, now), lambda job: _deploying_note(job, now)),
        Group("paused", [_paused_note(pool) for pool in pools if pool.paused]),
        Group("out_of_service", _out_of_service(pools)),
        _ending(pools, timezone.localdate(now)),
        _channels(scope.user, now),
    ]
    return [group for group in groups if group.notes]


def _channels(user: User, now: datetime) -> Group:
    """The person's own that are disabled, or whose last delivery of the past day did not arrive."""
    ended = Delivery.objects.filter(ended_at__gte=now - WITHIN)
    own: Any = Channel.objects.filter(owner=user).annotate(last=newest(ended, "state"))
    failing = own.filter(Q(disabled_at__isnull=False) | Q(last__in=NOT_ARRIVED)).order_by("name", "pk")
    rows = list(failing[: MOST + 1])
    notes = [Note(one.name, reverse("channel", args=[one.pk]), channel_text(one.disabled_at)) for one in rows]
    return Group("channels", notes[:MOST], more=len(rows) > MOST)


def pool_address(pool_id: int) -> str:
    return reverse("pool", args=[pool_id])


def _jobs(kind: str, jobs: Iterable[Job], note: Callable[[Job], Note]) -> Group:
    """The group of the first jobs, of which one more than are shown was read."""
    rows = list(jobs)
    return Group(kind, [note(job) for job in rows[:MOST]], more=len(rows) > MOST)


def _job_note(job: Job, text: str, at: datetime | None = None) -> Note:
    return Note(job.name, reverse("job", args=[job.key]), text, job.key, at, job.creator.username)


def _failed(jobs: JobQuerySet, now: datetime) -> QuerySet[Job]:
    found: QuerySet[Job] = jobs.filter(state=State.FAILED, ended_at__gte=now - FAILED_WITHIN)
    return found.order_by("-ended_at", "-pk")[: MOST + 1]


def _failed_note(job: Job) -> Note:
    text = reason_text(job.reason["code"], job.reason["data"]) if job.reason else ""
    return _job_note(job, text, job.ended_at)


def _hanging(jobs: JobQuerySet, now: datetime) -> Group:
    """Those that have been silent for longest come first."""
    rows = list(_silent(jobs).order_by("suspected_at", "pk")[: MOST + 1])
    presents = ((attempt.job, present_of(attempt.job, attempt).hang) for attempt in rows[:MOST])
    notes = [
        _job_note(job, hanging_text(hang.state, hang.since, now))
        for job, hang in presents
        if hang is not None
    ]
    return Group("hanging", notes, more=len(rows) > MOST)


def _silent(jobs: JobQuerySet) -> QuerySet[Attempt]:
    """The present runs, of these jobs, whose silence was told of."""
    running = jobs.filter(state=State.RUNNING, stop_requested_at=None).order_by().values("pk")
    runs = Attempt.objects.filter(job__in=running, number=F("job__attempt"), ended_at=None)
    silent = runs.filter(suspected_at__isnull=False, fault__isnull=True)
    large = (f"job__{name}" for name in LARGE_FIELDS)
    return silent.select_related("job__creator").defer(*large)


def _waiting(jobs: JobQuerySet, now: datetime) -> Group:
    """Those that wait the longest come first."""
    old = jobs.waiting().filter(created_at__lte=now - LONG_WAIT)
    found = old.annotate(waiting_since=waiting_since()).filter(waiting_since__lte=now - LONG_WAIT)
    rows = list(found.order_by("waiting_since", "pk")[: MOST + 1])
    reasons = reasons_read(rows[:MOST])

    def note(job: Any) -> Note:
        return _job_note(job, waiting_text(job.waiting_since, now, reasons[job.pk]))

    return _jobs("waiting", rows, note)


def placed_at() -> Subquery:
    """Since when a job has its GPUs: annotated to jobs, as their current attempt says."""
    attempts = Attempt.objects.filter(job=OuterRef("pk"), number=OuterRef("attempt"))
    return Subquery(attempts.values("placed_at")[:1])


def _deploying(jobs: JobQuerySet, now: datetime) -> Iterable[Job]:
    found: Any = jobs.filter(state=State.DEPLOYING).annotate(placed=placed_at())
    long: Iterable[Job] = found.filter(placed__lte=now - LONG_DEPLOY).order_by("placed", "pk")[: MOST + 1]
    return long


def _deploying_note(job: Any, now: datetime) -> Note:
    return _job_note(job, deploying_text(job.placed, now, job.deploy_step))


def _paused_note(pool: Pool) -> Note:
    return Note(pool.name, pool_address(pool.pk), paused_text())


def _out_of_service(pools: Sequence[Pool]) -> list[Note]:
    rows = (
        Node.objects.filter(flavor__pool__in=[pool.pk for pool in pools], state__in=list(OUT_OF_SERVICE))
        .values(*POOL_OF_NODE, "state")
        .annotate(n=Count("pk"), gpus=Sum("flavor__gpus_per_node"), first=Min("name"))
        .order_by("flavor__pool__name", "state")
    )
    return [
        _pool_note(row, out_of_service_text(row["state"], row["n"], row["gpus"], row["first"]))
        for row in rows
    ]


def _pool_note(row: Mapping[str, Any], text: str) -> Note:
    return Note(row["flavor__pool__name"], pool_address(row["flavor__pool"]), text, counts=row["n"])


def _ending(pools: Sequence[Pool], today: date) -> Group:
    """The earliest end first; a period that is over stays listed while the node is in the pool."""
    last = today + timedelta(days=SOON_DAYS)
    rows = list(
        Node.objects.filter(flavor__pool__in=[pool.pk for pool in pools], prepaid_until__lte=last)
        .exclude(state=NodeState.RETIRED)
        .values(*POOL_OF_NODE, "prepaid_until")
        .annotate(n=Count("pk"))
        .order_by("prepaid_until", "flavor__pool__name", "flavor__pool")[: MOST + 1]
    )
    notes = [_pool_note(row, ending_text(row["n"], row["prepaid_until"], today)) for row in rows[:MOST]]
    return Group("ending", notes, more=len(rows) > MOST)
