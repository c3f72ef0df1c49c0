"""What the start page shows: a person's jobs by state, those that live, the last ones, and the pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Q
from django.utils import timezone

from console.attention import Scope, placed_at
from console.texts import why_text
from jobs.findings import Reason
from jobs.models import Job
from jobs.present import NOTHING, Present, present_read
from jobs.querysets import JobQuerySet
from jobs.reading import waiting_since
from jobs.reasons import reasons_read
from jobs.states import LIVE, TERMINAL, State
from jobs.texts import HANG_LABELS, count_text, reason_text, state_label, step_label
from jobs.views.parts import Lasting
from pools.reading import PoolNumbers, pools_read
from teams.pages import digest

SHOWN_JOBS = 10
SHOWN_POOLS = 6


@dataclass(frozen=True, slots=True)
class Tile:
    """How many jobs are in a state, up to a bound: the person's own, and all of the team."""

    state: str
    label: str
    mine: str
    team: str


@dataclass(frozen=True, slots=True)
class Row:
    """A job of the person: its state, for how long, and what there is to say about that. `lasting` is None
    for a job that ended without having run."""

    job: Job
    state: str  # as its colour is named
    label: str
    hang: str  # that it may hang, or hangs
    lasting: Lasting | None
    detail: str


def tiles_read(scope: Scope, live: Mapping[str, tuple[int, int]]) -> list[Tile]:
    """All states; `live` are the counts of those in which jobs live."""
    mine, team = scope.jobs(mine=True), scope.jobs()
    ended = {str(s): (mine.filter(state=s).counted(), team.filter(state=s).counted()) for s in TERMINAL}
    counts = {**live, **ended}
    return [Tile(s, state_label(s), *map(count_text, counts.get(s, (0, 0)))) for s in map(str, State)]


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
    found = list(
        jobs.light()
        .shown()
        .annotate(placed=placed_at(), waiting_since=waiting_since())
        .order_by("-pk")[:most]
    )
    reasons = reasons_read([job for job in found if job.state == State.QUEUED])
    presents, now = present_read(found), timezone.now()
    return [
        _row(job, presents.get(job.pk, NOTHING), _lasting(job, now), _detail(job, reasons)) for job in found
    ]


def _row(job: Job, present: Present, lasting: Lasting | None, detail: str) -> Row:
    return Row(
        job=job,
        state="stopping" if job.stopping or present.leaving else job.state,
        label=state_label(job.state, job.stopping, present.leaving is not None),
        hang=str(HANG_LABELS[present.hang.state]) if present.hang else "",
        lasting=lasting,
        detail=detail,
    )


def _lasting(job: Any, now: datetime) -> Lasting | None:
    """How long it has been in its state; once it has ended, how long it ran."""
    if job.state == State.QUEUED:
        return Lasting.of(job.waiting_since, None, now)
    if job.state == State.DEPLOYING:
        return Lasting.of(job.placed, None, now) if job.placed else None
    return Lasting.of(job.started_at, job.ended_at, now) if job.started_at else None


def _detail(job: Job, reasons: Mapping[int, Reason | None]) -> str:
    if job.state == State.QUEUED:
        return why_text(reasons[job.pk])
    if job.state == State.FAILED and job.reason:
        return reason_text(job.reason["code"], job.reason["data"])
    return step_label(job.deploy_step).capitalize() if job.state == State.DEPLOYING else ""


def pools_shown(scope: Scope) -> list[PoolNumbers]:
    """The first pools of the person, by name."""
    today = timezone.localdate()
    return [PoolNumbers(pool, today) for pool in pools_read(scope.user, scope.team)[:SHOWN_POOLS]]


@dataclass(frozen=True, slots=True)
class Moving:
    """What changes while somebody looks. `hidden` live jobs of the person are not among the rows."""

    rows: Sequence[Row]
    pools: Sequence[PoolNumbers]
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
        rows = [(row.job.key, row.state, row.hang, row.detail) for row in self.rows]
        pools = [(n.pool.pk, n.pool.paused, n.idle, n.total, n.full, n.pool.queued_jobs) for n in self.pools]
        seen = rows, pools, sorted(self.counts.items())
        return digest(repr(seen))


def moving_read(scope: Scope, jobs: JobQuerySet) -> Moving:
    return Moving(rows_read(jobs, SHOWN_JOBS), pools_shown(scope), live_counts(scope))
