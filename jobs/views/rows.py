"""What a row of the list shows of a job, and how one tells that a row on the screen is out of date."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

from jobs.models import Job
from jobs.present import NOTHING, Present, present_read
from jobs.services import may_stop_of
from jobs.states import Priority, State
from jobs.texts import HANG_LABELS, reason_text, state_label
from jobs.views.filters import JobFilter
from jobs.views.parts import Lasting
from teams.models import User
from teams.pages import digest

PRIORITY_MARKS = {Priority.HIGH: "high", Priority.LOW: "low"}


@dataclass(frozen=True, slots=True)
class Row:
    """`waited` and `ran` are None where there is no such time; `strays` says that the job has come to a
    state that the list was not asked for."""

    job: Any  # with `waiting_since`
    label: str
    look: str
    hang: str  # that it may hang, or hangs
    note: str
    waited: Lasting | None
    ran: Lasting | None
    log_rank: int
    may_stop: bool
    strays: bool

    @property
    def mark(self) -> str:
        return PRIORITY_MARKS.get(Priority(self.job.priority), "")

    @property
    def token(self) -> str:
        """For the button that creates the job once more: pressed twice, it creates one."""
        return str(uuid4())

    @property
    def signal(self) -> int | None:
        """The signal that ended the Worker that failed first."""
        return self.job.reason["data"].get("signal") if self.job.reason else None

    @property
    def version(self) -> str:
        """Changes with whatever the row shows, but for the time that the page counts on by itself."""
        job = self.job
        times = (job.waiting_since, job.started_at, job.ended_at)
        stands = (self.look, self.label, self.hang, self.mark, self.note, job.attempt, job.exit_code)
        return digest(repr((*stands, self.may_stop, self.strays, *times)))


def rows_of(jobs: Collection[Any], user: User, asked: JobFilter, now: datetime) -> list[Row]:
    """Of jobs that were annotated with `waiting_since`."""
    stoppable = may_stop_of(user=user, jobs=jobs)
    presents = present_read(jobs)
    return [_row(job, presents.get(job.pk, NOTHING), job.pk in stoppable, asked, now) for job in jobs]


def _row(job: Any, present: Present, stoppable: bool, asked: JobFilter, now: datetime) -> Row:
    waits, began = job.state == State.QUEUED, job.started_at
    return Row(
        job=job,
        label=state_label(job.state, job.stopping, present.leaving is not None),
        look="stopping" if job.stopping or present.leaving else job.state,
        hang=str(HANG_LABELS[present.hang.state]) if present.hang else "",
        note=reason_text(job.reason["code"], job.reason["data"]) if job.reason else "",
        waited=Lasting.of(job.waiting_since, None, now) if waits else None,
        ran=Lasting.of(began, job.ended_at, now) if began and not waits else None,
        log_rank=telling_rank(job),
        may_stop=stoppable and not job.finished and not job.stopping,
        strays=bool(asked.state) and asked.state != job.state,
    )


def telling_rank(job: Job) -> int:
    """The Worker whose log tells most: the one that made the job fail, if one did."""
    data: dict[str, Any] = job.reason["data"] if job.reason and job.state == State.FAILED else {}
    rank = data.get("rank", 0)
    return rank if isinstance(rank, int) else 0


@dataclass(frozen=True, slots=True)
class Poll:
    """What the list asks again and again. `newest` is the youngest job that it shows on its first page;
    jobs after it are only counted."""

    asked: JobFilter
    rows: Sequence[tuple[str, str]]
    newest: str = ""
    news: int = 0

    @property
    def address(self) -> str:
        """Empty where nothing on the screen can change any more."""
        if not self.rows:
            return ""
        seen = {"keys": ",".join(key for key, _ in self.rows), "seen": ",".join(v for _, v in self.rows)}
        return self.asked.address(**seen, newest=self.newest, news=str(self.news or ""))
