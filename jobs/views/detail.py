"""The page of one job, its live part, and stopping it."""

from __future__ import annotations

import hashlib
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from jobs.findings import Finding
from jobs.models import Attempt, Job
from jobs.private import private_read
from jobs.querysets import JobQuerySet
from jobs.reading import job_waiting
from jobs.services import job_stop, may_stop
from jobs.spec import EnvVar, JobSpec
from jobs.states import DeployStep, State
from jobs.texts import (
    FRAMEWORK_LABELS,
    PRIORITY_LABELS,
    event_text,
    finding_text,
    reason_text,
    state_label,
    step_label,
)
from jobs.views.parts import fresh, part
from teams.views import signed_in
from teams.models import User

NOT_CHANGED = 204
SHOWN_WORKERS = 64


def _jobs(user: User) -> JobQuerySet:
    jobs: JobQuerySet = Job.objects.for_user(user).shown().select_related("creator", "team")
    return jobs


@fresh
@login_required
@require_safe
def job_page(request: HttpRequest, key: str) -> HttpResponse:
    user = signed_in(request)
    job = get_object_or_404(_jobs(user), key=key)
    context = _live(job, user) | _asked(job, user)
    context["seen"] = _digest(context)
    context["log_rank"] = _telling_rank(job, context["attempt"])
    return render(request, "jobs/detail.html", context)


@part
@require_safe
def job_live(request: HttpRequest, key: str) -> HttpResponse:
    """What changes while a job lives. Nothing to swap while it is as the page has it."""
    user = signed_in(request)
    context = _live(get_object_or_404(_jobs(user).light(), key=key), user) | {"polled": True}
    context["seen"] = _digest(context)
    if request.GET.get("seen") == context["seen"]:
        return HttpResponse(status=NOT_CHANGED)
    return render(request, "jobs/detail.html#live", context)


@login_required
@require_POST
def job_stop_view(request: HttpRequest, key: str) -> HttpResponse:
    user = signed_in(request)
    job = get_object_or_404(_jobs(user).light(), key=key)
    if not may_stop(user=user, job=job):
        raise PermissionDenied
    ended_before = job.finished
    job = job_stop(job=job, actor=user)
    if ended_before:
        messages.info(request, _("The job had ended already."))
    else:
        messages.success(request, _("Stopped.") if job.finished else _("The job is being stopped."))
    return redirect("job", key=key)


def _live(job: Job, user: User) -> dict[str, Any]:
    attempt = job.attempts.filter(number=job.attempt).first() if job.attempt else None
    waiting = job_waiting(job) if job.state == State.QUEUED and not job.stopping else None
    return {
        "job": job,
        "state_label": state_label(job.state, job.stopping),
        "steps": _steps(job),
        "reason": reason_text(job.reason["code"], job.reason["data"]) if job.reason else "",
        "place": waiting[0] if waiting else None,
        "waits_for": reason_text(waiting[1].code, waiting[1].data) if waiting and waiting[1] else "",
        "may_stop": not job.finished and not job.stopping and may_stop(user=user, job=job),
        "attempt": attempt,
        "workers": list(attempt.workers.order_by("rank")[:SHOWN_WORKERS]) if attempt else [],
        "worker_count": job.shape.workers,
        "events": [
            {"at": e.at, "text": event_text(e.code, e.data), "actor": e.actor}
            for e in job.events.select_related("actor").order_by("-pk")[:200]
        ],
    }


def _telling_rank(job: Job, attempt: Attempt | None) -> int:
    """The Worker whose log is shown first: the one that made the job fail, if one did."""
    rank = job.reason["data"].get("rank", 0) if job.reason and job.state == State.FAILED else 0
    return rank if rank and attempt and attempt.workers.filter(rank=rank).exists() else 0


def _steps(job: Job) -> list[dict[str, Any]]:
    """The deploy steps with the one that is under way; empty unless the job is deploying."""
    if job.state != State.DEPLOYING:
        return []
    names = [str(step) for step in DeployStep]
    at = names.index(job.deploy_step) if job.deploy_step in names else 0
    return [{"label": step_label(n), "done": i < at, "now": i == at} for i, n in enumerate(names)]


def _asked(job: Job, user: User) -> dict[str, Any]:
    """What was asked for, as it was frozen."""
    spec = JobSpec.from_json(job.request)
    return {
        "spec": spec,
        "frozen": job.frozen,
        "framework": FRAMEWORK_LABELS.get(spec.framework, spec.framework),  # type: ignore[call-overload]
        "priority": PRIORITY_LABELS.get(spec.priority, spec.priority),
        "command_lines": len(spec.command.splitlines()),
        "env": _env(job, spec, user),
        "tags": [tag.name for tag in job.tags.order_by("pk")],
        "findings": [_finding(f) for f in job.findings],
    }


def _env(job: Job, spec: JobSpec, user: User) -> list[EnvVar]:
    """The variables of the page; a private one with its value only for the person who entered it."""
    own = private_read(job=job, user=user)
    return [EnvVar(v.name, own.get(v.name), True) if v.private else v for v in spec.env]


def _finding(data: dict[str, Any]) -> Finding:
    text = finding_text(data["code"], data["data"])
    return Finding(data["code"], data["field"], data["level"], {"text": text})


def _digest(context: dict[str, Any]) -> str:
    """Names what the live part shows, so that an unchanged one is not swapped under the reader's hands."""
    shown = render_to_string("jobs/detail.html#moving", context)  # without the request: its CSRF token varies
    return hashlib.sha256(shown.encode()).hexdigest()[:16]
