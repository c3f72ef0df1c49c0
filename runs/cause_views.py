"""Where the trouble of a job may come from: a part of its page, judged when it is opened."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.estimate import estimate
from jobs.findings import Reason
from jobs.forms.causes import Cause, Row, Trouble, blamed, rows
from jobs.models import Attempt, Job
from jobs.reading import request_read
from jobs.reasons import job_waiting
from jobs.rerun import NOTHING, Repeater, rerun_of
from jobs.states import PLACED, State
from jobs.texts import finding_text, reason_text
from jobs.texts.causes import HELP, cause_title, exit_text, has_gpus_text
from jobs.texts.checklist import point_text
from jobs.texts.states import duration_text
from runs.last_lines import MOST_LINES, tail_read
from runs.symptoms import symptoms
from runs.texts import symptom_text
from teams.models import User
from teams.pages import part_or_page, signed_in, wants_part

OF_SYMPTOM = {
    "module_missing": Cause.START,
    "program_missing": Cause.START,
    "variable_missing": Cause.START,
    "path_missing": Cause.START,
    "not_permitted": Cause.START,
    "read_only": Cause.START,
    "no_space": Cause.RESULTS,
    "shared_memory": Cause.RESOURCES,
    "gpu_memory": Cause.RESOURCES,
    "port_in_use": Cause.NETWORK,
    "not_meeting": Cause.NETWORK,
    "rank_failed": None,  # tells who failed, and not why
}


@part_or_page
@require_safe
def causes(request: HttpRequest, key: str) -> HttpResponse:
    """Each cause with what holds of it now; what is known to have failed first, the rest folded if well."""
    user = signed_in(request)
    job = get_object_or_404(Job.objects.for_user(user).select_related("pool"), key=key)
    facts = _facts_of_log(job)
    trouble = _trouble(job, facts)
    shown = _shown(job, user, trouble, facts)
    known = any(row["failed"] for row in shown)
    context = {
        "job": job,
        "rows": [row for row in shown if not (known and row["settled"])],
        "settled": [row for row in shown if known and row["settled"]],
        "points_nowhere": trouble.state == State.FAILED and not any(row["suspect"] for row in shown),
        "ran": "" if trouble.ran is None else duration_text(int(trouble.ran)),
    }
    template = "runs/causes_list.html" if wants_part(request) else "runs/causes.html"
    return render(request, template, context)


def _facts_of_log(job: Job) -> dict[Cause, list[str]]:
    """What the last lines of the Worker that failed first say, by the cause of which they say it."""
    rank = (job.reason or {}).get("data", {}).get("rank")
    if job.state != State.FAILED or rank is None:
        return {}
    facts: dict[Cause, list[str]] = defaultdict(list)
    for one in symptoms(tail_read(job, job.attempt, rank, MOST_LINES)):
        cause = OF_SYMPTOM[one.code]
        if cause is not None:
            facts[cause].append(symptom_text(one.code, one.data))
    return facts


def _trouble(job: Job, facts: dict[Cause, list[str]]) -> Trouble:
    attempt = Attempt.objects.filter(job=job, number=job.attempt).first()
    ran = None
    if attempt is not None and attempt.started_at is not None:
        ran = ((attempt.ended_at or timezone.now()) - attempt.started_at).total_seconds()
    reason = Reason(job.reason["code"], job.reason["data"]) if job.reason else None
    return Trouble(State(job.state), reason, ran, job.shape.workers, tuple(facts))


def _shown(job: Job, user: User, trouble: Trouble, facts: dict[Cause, list[str]]) -> list[dict[str, Any]]:
    asked = replace(job.spec_asked, alerts=())  # what is told of it is no cause
    spec, now = request_read(user, rerun_of(asked, job.key, NOTHING, None, Repeater(True)).spec)
    judged = estimate(spec, now)
    return [_row(job, trouble, row, facts.get(row.cause, [])) for row in rows(trouble, spec, judged, now)]


def _row(job: Job, trouble: Trouble, row: Row, facts: list[str]) -> dict[str, Any]:
    return {
        "code": str(row.cause),
        "title": cause_title(row.cause, late=trouble.late),
        "standing": "failed" if row.failed else row.standing,
        "suspect": row.suspect,
        "failed": row.failed,
        "settled": row.settled,
        "refused": [finding_text(f.code, f.data) for f in row.refused],
        "told": [*facts, *_told(job, trouble, row)],
        "anchor": HELP[row.cause],
    }


def _told(job: Job, trouble: Trouble, row: Row) -> list[str]:
    told = [
        finding_text(p.finding.code, p.finding.data) if p.finding else point_text(p.why, p.data)
        for p in row.points
    ]
    if row.cause == Cause.RESOURCES and job.state == State.QUEUED:
        told[0] = _waits_for(job) or told[0]
    if row.cause == Cause.RESOURCES and trouble.state in PLACED:
        told = [has_gpus_text(job.total_gpus)]
    if row.cause == blamed(trouble) and trouble.reason:
        told = [reason_text(trouble.reason.code, trouble.reason.data), *told]
    if row.cause == Cause.START and (exit_code := exit_text(trouble.reason)):
        told = [exit_code, *told]
    return told


def _waits_for(job: Job) -> str:
    _place, reason = job_waiting(job)
    return reason_text(reason.code, reason.data) if reason else ""
