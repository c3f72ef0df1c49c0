"""What the start page shows: a person's jobs by state, those that live, the last ones, and the pools."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from console.attention import Scope, placed_at, pool_address
from jobs.findings import Reason
from jobs.models import Job, WaitingTotal
from jobs.querysets import JobQuerySet
from jobs.reasons import reasons_read
from jobs.states import LIVE, State
from jobs.texts import reason_text, state_label, step_label
from jobs.views.parts import Lasting
from pools.capacity import idle_gpus, startable
from pools.models import Flavor, Pool
from teams.pages import digest

SHOWN_JOBS = 10
SHOWN_POOLS = 6
FULL_GPUS = 8  # of the largest Worker, whose startable count is shown


@dataclass(frozen=True, slots=True)
class Tile:
    """How many jobs are in a state: the person's own, and all of the team."""

    state: str
    label: str
    mine: int
    team: int


@dataclass(frozen=True, slots=True)
class Row:
    """A job of the person: its state, for how long, and what there is to say about that. `lasting` is None
    for a job that ended without having run."""

    job: Job
    state: str  # as its colour is named
    label: str
    lasting: Lasting | None
    detail: str


@dataclass(frozen=True, slots=True)
class PoolGlance:
    """`full` is how many Workers of 8 GPUs could start now; None: no node is that large."""

    id: int
    name: str
    zone: str
    paused: bool
    idle: int
    total: int
    full: int | None
    waiting: int

    @property
    def address(self) -> str:
        return pool_address(self.id)

    @property
    def idle_share(self) -> int:
        return round(100 * self.idle / self.total) if self.total else 0


def tiles_read(scope: Scope) -> list[Tile]:
    mine = Count("pk", filter=Q(creator=scope.user))
    rows = scope.jobs().order_by().values_list("state").annotate(mine=mine, team=Count("pk"))
    counts = {state: (own, team) for state, own, team in rows}
    return [Tile(s, state_label(s), *counts.get(s, (0, 0))) for s in map(str, State)]


def live_counts(scope: Scope) -> dict[str, tuple[int, int]]:
    """Of the states in which jobs live: the person's own, and all. Cheap, however many jobs have ended."""
    mine = Count("pk", filter=Q(creator=scope.user))
    rows = scope.jobs().filter(state__in=LIVE).order_by().values_list("state")
    return {state: (own, team) for state, own, team in rows.annotate(mine=mine, team=Count("pk"))}


def live_jobs(scope: Scope) -> JobQuerySet:
    jobs: JobQuerySet = scope.jobs(mine=True).filter(state__in=LIVE)
    return jobs


def ended_jobs(scope: Scope) -> JobQuerySet:
    jobs: JobQuerySet = scope.jobs(mine=True).exclude(state__in=LIVE)
    return jobs


def rows_read(jobs: JobQuerySet, most: int) -> list[Row]:
    """The newest of the jobs as rows, with the reasons of those that wait."""
    found = list(jobs.light().shown().annotate(placed=placed_at()).order_by("-pk")[:most])
    reasons = reasons_read([job for job in found if job.state == State.QUEUED])
    now = timezone.now()
    return [
        Row(
            job=job,
            state="stopping" if job.stopping else job.state,
            label=state_label(job.state, job.stopping),
            lasting=_lasting(job, now),
            detail=_detail(job, reasons),
        )
        for job in found
    ]


def _lasting(job: Job, now: datetime) -> Lasting | None:
    """How long it has been in its state; once it has ended, how long it ran."""
    if job.state == State.QUEUED:
        return Lasting.of(job.eligible_at, None, now)
    if job.state == State.DEPLOYING:
        since = job.placed  # type: ignore[attr-defined]  # annotated
        return Lasting.of(since, None, now) if since else None
    return Lasting.of(job.started_at, job.ended_at, now) if job.started_at else None


def _detail(job: Job, reasons: Mapping[int, Reason | None]) -> str:
    if job.state == State.QUEUED:
        reason = reasons[job.pk]
        return reason_text(reason.code, reason.data) if reason else _("Starts in a moment.")
    if job.state == State.FAILED and job.reason:
        return reason_text(job.reason["code"], job.reason["data"])
    return step_label(job.deploy_step).capitalize() if job.state == State.DEPLOYING else ""


def pools_read(scope: Scope) -> list[PoolGlance]:
    """The first pools of the person, by name."""
    pools = list(scope.pools().select_related("zone").order_by("name")[:SHOWN_POOLS])
    flavors: dict[int, list[Flavor]] = defaultdict(list)
    for flavor in Flavor.objects.filter(pool__in=[pool.pk for pool in pools]):
        flavors[flavor.pool_id].append(flavor)
    totals = WaitingTotal.objects.filter(pool__in=[pool.pk for pool in pools]).order_by().values_list("pool")
    waiting = dict(totals.annotate(n=Sum("jobs")))
    return [_glance(pool, flavors[pool.pk], waiting.get(pool.pk, 0)) for pool in pools]


def _glance(pool: Pool, flavors: Sequence[Flavor], waiting: int) -> PoolGlance:
    large = [f for f in flavors if f.gpus_per_node >= FULL_GPUS]
    return PoolGlance(
        id=pool.pk,
        name=pool.name,
        zone=pool.zone.name,
        paused=pool.paused,
        idle=sum(idle_gpus(f.idle_nodes) for f in flavors),
        total=sum(f.gpus_per_node * f.node_count for f in flavors),
        full=sum(startable(f.idle_nodes, FULL_GPUS) for f in large) if large else None,
        waiting=waiting,
    )


@dataclass(frozen=True, slots=True)
class Moving:
    """What changes while somebody looks. `hidden` live jobs of the person are not among the rows."""

    rows: Sequence[Row]
    pools: Sequence[PoolGlance]
    counts: dict[str, tuple[int, int]]

    @property
    def hidden(self) -> int:
        live = sum(mine for mine, _team in self.counts.values())
        return max(0, live - sum(not row.job.finished for row in self.rows))

    @property
    def keys(self) -> str:
        return ",".join(row.job.key for row in self.rows)

    @property
    def digest(self) -> str:
        """Names what is shown, so that an unchanged page is not touched under the reader's hands.

        Not the time, which the page counts on by itself.
        """
        rows = [(row.job.key, row.state, row.detail) for row in self.rows]
        seen = rows, list(self.pools), sorted(self.counts.items())
        return digest(repr(seen))


def moving_read(scope: Scope, jobs: JobQuerySet) -> Moving:
    return Moving(rows_read(jobs, SHOWN_JOBS), pools_read(scope), live_counts(scope))
