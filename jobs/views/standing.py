"""Where a job stands, as its page and the progress in the list show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any

from django.db.models import Case, IntegerField, QuerySet, Value, When
from django.utils import timezone

from jobs.attempts import attempt_steps
from jobs.findings import Reason
from jobs.forms.causes import doubtful
from jobs.models import Attempt, Job, JobEvent, Worker
from jobs.occupancy import PoolUse, pool_use
from jobs.present import Hang, Leaving, present_of
from jobs.querysets import JobQuerySet
from jobs.reading import waiting_since
from jobs.reasons import job_waiting
from jobs.services import may_stop
from jobs.states import Priority, State
from jobs.texts import (
    FATES,
    HANG_DOES,
    HANG_LABELS,
    PHASE_LABELS,
    PRIORITY_LABELS,
    duration_text,
    event_text,
    hang_rule_of,
    reason_text,
    state_label,
    step_label,
    used_up_text,
)
from jobs.texts.filling import span_text
from jobs.texts.states import HOUR, MINUTE
from jobs.timeline import Interval, Life, Phase, Run, timeline
from jobs.trials import MOST_MINUTES
from jobs.views.parts import Lasting
from jobs.views.rows import telling_rank
from teams.models import User

SHOWN_WORKERS = 64
SHOWN_EVENTS = 200
UNFOLDED_WORKERS = 8
WAITS_FOR_GPUS = frozenset({"capacity", "behind_head", "quota"})


def jobs_shown(user: User) -> JobQuerySet:
    jobs = Job.objects.for_user(user).shown().select_related("creator", "team")
    annotated: JobQuerySet = jobs.annotate(waiting_since=waiting_since())
    return annotated


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a job failed. `worker` is the one that failed first; None if none was, or it is not known.
    `used_up` says that no restart was left."""

    text: str
    attempt: int
    worker: Worker | None
    used_up: str


def standing(job: Any, user: User) -> dict[str, Any]:
    """Context of all that changes while a job of `jobs_shown` lives, but for Workers and events."""
    now = timezone.now()
    attempts = list(job.attempts.order_by("number"))
    waiting = job_waiting(job) if job.state == State.QUEUED and not job.stopping else None
    present = present_of(job, attempts[-1] if attempts else None)
    life = _life(job, attempts)
    reason = reason_text(job.reason["code"], job.reason["data"]) if job.reason else ""
    failed = job.state == State.FAILED
    kept_until = _kept_until(attempts, now)
    may = not job.finished and not job.stopping and may_stop(user=user, job=job)
    return {
        "job": job,
        "state_label": state_label(job.state, job.stopping, present.leaving is not None),
        "look": "stopping" if job.stopping or present.leaving else job.state,
        "hang": _hang(job, present.hang, now) if present.hang else None,
        "leaving": _leaving(job, present.leaving) if present.leaving else None,
        "lasting": _lasting(job, life, now),
        "steps": _steps(job, attempts, now),
        "phases": _phases(job, life, now, attempts),
        "reason": "" if failed else reason,
        "failure": _failure(job, attempts, reason) if failed else None,
        "look_for_causes": _in_trouble(job),
        "place": waiting[0] if waiting else None,
        "restarts_at": job.eligible_at if waiting and job.eligible_at > now else None,
        "stops": _stops(job, now) if waiting else None,
        "use": _use(job, waiting[1]) if waiting else None,
        "waits_for": reason_text(waiting[1].code, waiting[1].data) if waiting and waiting[1] else "",
        "priority_label": PRIORITY_LABELS[Priority(job.priority).label_code],
        "waited": Lasting.of(job.waiting_since, None, now) if waiting else None,
        "may_stop": may,
        "asks_instead": bool(may and waiting and waiting[1]),
        "attempt": attempts[-1] if attempts else None,
        "kept_until": kept_until,
        "may_remove": bool(kept_until) and may_stop(user=user, job=job),
        "trial_minutes": MOST_MINUTES,
    }


def _stops(job: Any, now: datetime) -> dict[str, Any] | None:
    """When a job that still waits will be stopped, and in how long, to the minute."""
    if job.queue_until is None:
        return None
    seconds = max((job.queue_until - now).total_seconds(), 0)
    left = duration_text(int(seconds)) if seconds >= HOUR else span_text(ceil(seconds / MINUTE), "minutes")
    return {"at": job.queue_until, "left": left, "due": not seconds}


def _use(job: Any, reason: Reason | None) -> PoolUse | None:
    """Who holds the GPUs of the pool, where that is what a job waits for."""
    if reason is None or reason.code not in WAITS_FOR_GPUS:
        return None
    return pool_use(pool_id=job.pool_id, team_id=job.team_id)


def _kept_until(attempts: Sequence[Attempt], now: datetime) -> datetime | None:
    """Until when the files of the failed run can be read; None if there are none any more."""
    until = attempts[-1].kept_until if attempts else None
    return until if until and until > now else None


def _in_trouble(job: Job) -> bool:
    """Whether somebody may ask what is wrong: it does not run yet, it failed, or its success is doubtful."""
    if job.state in (State.QUEUED, State.DEPLOYING, State.FAILED):
        return True
    return job.state == State.SUCCEEDED and doubtful(job.findings)


def workers_shown(attempt: Attempt | None) -> dict[str, Any]:
    """The Workers of an attempt, those that failed first; most of them folded."""
    workers = list(_failing_first(attempt)[:SHOWN_WORKERS]) if attempt else []
    return {
        "workers": workers[:UNFOLDED_WORKERS],
        "folded_workers": workers[UNFOLDED_WORKERS:],
        "shown_workers": len(workers),
    }


def events_shown(job: Job) -> list[dict[str, Any]]:
    """The latest first; `stacks` is the run whose stacks were captured because of what is told."""
    events = list(job.events.select_related("actor").order_by("-pk")[:SHOWN_EVENTS])
    runs = []
    if any(_of_hang(e) for e in events):
        runs = list(job.attempts.order_by("-number").values_list("placed_at", "number"))
    return [
        {
            "at": e.at,
            "text": event_text(e.code, e.data),
            "actor": e.actor,
            "stacks": next((n for placed, n in runs if placed <= e.at), None) if _of_hang(e) else None,
        }
        for e in events
    ]


def _of_hang(event: JobEvent) -> bool:
    return event.code in ("hang_suspected", "hang") or (event.data.get("reason") or {}).get("code") == "hung"


def _hang(job: Job, hang: Hang, now: datetime) -> dict[str, Any]:
    """What is told of a silence: since when, what the rule says, and what becomes of the run by it."""
    acts = hang.state == "hung" and job.hang_action
    return {
        "state": hang.state,
        "label": HANG_LABELS[hang.state],
        "does": HANG_DOES[job.hang_action if acts else "notify"],
        "since": hang.since,
        "lasting": Lasting.of(hang.since, None, now),
        "rule": hang_rule_of(job.hang_seconds or 0, job.hang_action),
    }


def _leaving(job: Any, leaving: Leaving) -> dict[str, Any]:
    return {
        "why": reason_text(leaving.reason["code"], leaving.reason["data"]),
        "until": leaving.until(job.shown_stop_grace_seconds),
        "fate": FATES[leaving.fate],
    }


def _steps(job: Job, attempts: Sequence[Attempt], now: datetime) -> list[dict[str, Any]]:
    """The deploy steps of the latest attempt with the one that is under way, and how long each took."""
    deploying = job.state == State.DEPLOYING
    if not attempts or job.state == State.QUEUED or not (deploying or attempts[-1].deployment):
        return []
    steps = attempt_steps(attempts[-1])
    begun = [
        at for at, step in enumerate(steps) if step.begin or (deploying and step.name == job.deploy_step)
    ]
    broken = next((at for at, step in enumerate(steps) if step.reason), None)
    last = begun[-1] if broken is None else broken
    ended_early = attempts[-1].started_at is None and not deploying
    return [
        {
            "label": step_label(step.name),
            "done": at < last or (at == last and not deploying and broken is None and not ended_early),
            "now": deploying and broken is None and at == last,
            "bad": at == broken,
            "lasting": Lasting.of(step.begin, step.end, now) if step.begin and at <= last else None,
            "message": reason_text(step.reason["code"], step.reason["data"]) if step.reason else "",
        }
        for at, step in enumerate(steps)
    ]


def log_rank(job: Job, attempt: Attempt | None) -> int:
    """The Worker whose log is shown first."""
    rank = telling_rank(job)
    return rank if rank and attempt and attempt.workers.filter(rank=rank).exists() else 0


def _failing_first(attempt: Attempt) -> QuerySet[Worker]:
    """The one that failed first, then those that ended badly by themselves: signals may be ours."""
    first = (attempt.first_failure or {}).get("rank", -1)
    trouble = Case(
        When(rank=first, then=Value(0)),
        When(exit_code__gt=0, then=Value(1)),
        default=Value(2),
        output_field=IntegerField(),
    )
    return attempt.workers.annotate(trouble=trouble).order_by("trouble", "rank")


def _life(job: Job, attempts: Sequence[Attempt]) -> Life:
    runs = [Run(a.number, a.placed_at, a.started_at, a.ended_at, a.fault_at) for a in attempts]
    return Life(job.created_at, runs, job.stop_requested_at, job.ended_at)


def _lasting(job: Job, life: Life, now: datetime) -> Lasting | None:
    """How long the job has run, in its last run; None before its command ran."""
    if not life.runs or job.state == State.QUEUED or life.runs[-1].started_at is None:
        return None
    return Lasting.of(life.runs[-1].started_at, life.runs[-1].ended_at or job.ended_at, now)


def _phases(job: Job, life: Life, now: datetime, attempts: Sequence[Attempt]) -> list[dict[str, Any]]:
    """The timeline; what ended badly says so, and what is under way is the present. Where there were several
    runs, each says whose log to read of it."""
    intervals = timeline(life)
    telling = {attempt.number: (attempt.first_failure or {}).get("rank", 0) for attempt in attempts}
    return [
        {
            "kind": str(one.phase),
            "label": PHASE_LABELS[one.phase],
            "run": one.run if one.phase in (Phase.DEPLOY, Phase.RUN) and len(life.runs) > 1 else None,
            "log_rank": telling.get(one.run, 0),
            "begin": one.begin,
            "lasting": Lasting.of(one.begin, one.end, now),
            "now": one.end is None,
            "bad": _went_wrong(job, one, after=intervals[at + 1 :]),
        }
        for at, one in enumerate(intervals)
    ]


def _went_wrong(job: Job, one: Interval, after: Sequence[Interval]) -> bool:
    """A run that was followed by another, or was the last of a job that failed."""
    if one.phase not in (Phase.DEPLOY, Phase.RUN, Phase.LEAVE) or one.end is None:
        return False
    if not after:
        return job.state == State.FAILED
    return after[0].phase == Phase.WAIT


def _failure(job: Job, attempts: Sequence[Attempt], reason: str) -> Failure:
    attempt = attempts[-1] if attempts else None
    rank = (job.reason or {}).get("data", {}).get("rank")
    worker = attempt.workers.filter(rank=rank).first() if attempt and rank is not None else None
    return Failure(reason, attempt.number if attempt else 0, worker, _used_up(job))


def _used_up(job: Job) -> str:
    """As the event of the failure has it."""
    return used_up_text(job.events.filter(code="failed").values_list("data", flat=True).last() or {})
