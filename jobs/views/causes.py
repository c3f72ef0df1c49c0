"""Where the trouble of a job may come from: a part of its page, judged when it is opened."""

from __future__ import annotations

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
from teams.models import User
from teams.pages import part_or_page, signed_in, wants_part


@part_or_page
@require_safe
def causes(request: HttpRequest, key: str) -> HttpResponse:
    """Each cause with what holds of it now; the suspected ones first."""
    user = signed_in(request)
    job = get_object_or_404(Job.objects.for_user(user), key=key)
    trouble = _trouble(job)
    context = {"job": job, "rows": _shown(job, user, trouble), "ran": _ran_text(trouble)}
    template = "jobs/detail/causes_list.html" if wants_part(request) else "jobs/causes.html"
    return render(request, template, context)


def _trouble(job: Job) -> Trouble:
    attempt = Attempt.objects.filter(job=job, number=job.attempt).first()
    ran = None
    if attempt is not None and attempt.started_at is not None:
        ran = ((attempt.ended_at or timezone.now()) - attempt.started_at).total_seconds()
    reason = Reason(job.reason["code"], job.reason["data"]) if job.reason else None
    return Trouble(State(job.state), reason, ran, job.shape.workers)


def _ran_text(trouble: Trouble) -> str:
    return "" if trouble.ran is None else duration_text(int(trouble.ran))


def _shown(job: Job, user: User, trouble: Trouble) -> list[dict[str, Any]]:
    asked = replace(job.spec_asked, alerts=())  # what is told of it is no cause
    spec, facts = request_read(user, rerun_of(asked, job.key, NOTHING, None, Repeater(True)).spec)
    judged = estimate(spec, facts)
    shown = [_row(job, trouble, row) for row in rows(trouble, spec, judged, facts)]
    return sorted(shown, key=lambda row: not row["suspect"])


def _row(job: Job, trouble: Trouble, row: Row) -> dict[str, Any]:
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
    return {
        "code": str(row.cause),
        "title": cause_title(row.cause),
        "standing": row.standing,
        "suspect": row.suspect,
        "refused": [finding_text(f.code, f.data) for f in row.refused],
        "told": told,
        "anchor": HELP[row.cause],
    }


def _waits_for(job: Job) -> str:
    _place, reason = job_waiting(job)
    return reason_text(reason.code, reason.data) if reason else ""
