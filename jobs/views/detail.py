"""The page of one job, its live part, and stopping it."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from jobs.editing import may_edit
from jobs.findings import Finding
from jobs.forms.differences import difference_rows
from jobs.models import Job
from jobs.origins import copies_read, origin_read
from jobs.private import private_read
from jobs.services import job_stop, may_stop
from jobs.spec import EnvVar, JobSpec
from jobs.states import Priority
from jobs.texts import (
    FRAMEWORK_LABELS,
    HANG_ACTION_LABELS,
    PRIORITY_LABELS,
    START_POLICY_LABELS,
    duration_forms,
    finding_text,
)
from jobs.views.alerts import alerts_shown
from jobs.views.checks import checks_shown
from jobs.views.parts import rendered
from jobs.views.standing import events_shown, jobs_shown, log_rank, standing, workers_shown
from teams.models import User
from teams.pages import NOT_CHANGED, address_back, fresh, part, part_or_page, signed_in, wants_part

LIVE_PARTS = ("head", "actions", "trouble", "instead", "causes", "timeline", "workers", "check", "events")


@fresh
@login_required
@require_safe
def job_page(request: HttpRequest, key: str) -> HttpResponse:
    user = signed_in(request)
    job = get_object_or_404(jobs_shown(user), key=key)
    context = _live(job, user)
    shown = _rendered(context)
    context |= (
        _asked(job, user)
        | _related(job, user)
        | {
            "parts": {name: html for name, (html, _version) in shown.items()},
            "seen": _versions(shown),
            "log_rank": log_rank(job, context["attempt"]),
            "forms": duration_forms(),
            "rerun_token": str(uuid4()),
        }
    )
    return render(request, "jobs/detail.html", context)


@part
@require_safe
def job_live(request: HttpRequest, key: str) -> HttpResponse:
    """The parts that are not as the page has them (`seen`), so that nothing else moves on it."""
    user = signed_in(request)
    context = _live(get_object_or_404(jobs_shown(user).light(), key=key), user)
    shown = _rendered(context)
    seen = dict(zip(LIVE_PARTS, request.GET.get("seen", "").split("."), strict=False))
    changed = [(name, html) for name, (html, version) in shown.items() if seen.get(name) != version]
    if not changed:
        return HttpResponse(status=NOT_CHANGED)
    return render(request, "jobs/detail/live.html", context | {"changed": changed, "seen": _versions(shown)})


@part_or_page
@require_http_methods(["GET", "HEAD", "POST"])
def job_stop_view(request: HttpRequest, key: str) -> HttpResponse:
    """Asks first, in a dialog or on a page of its own; a POST stops, once however often it is sent."""
    user = signed_in(request)
    job = get_object_or_404(jobs_shown(user).light(), key=key)
    if not may_stop(user=user, job=job):
        raise PermissionDenied
    if request.method != "POST":
        return _question(request, job)
    ended_before = job.finished
    job = job_stop(job=job, actor=user)
    if ended_before:
        messages.info(request, _("The job had ended already."))
    else:
        messages.success(request, _("Stopped.") if job.finished else _("The job is being stopped."))
    return redirect(address_back(request, request.POST.get("next", ""), reverse("job", args=[key])))


def _question(request: HttpRequest, job: Job) -> HttpResponse:
    """In a dialog it is asked above the page to which one then comes back."""
    asked_on = request.headers.get("HX-Current-URL") or request.GET.get("next", "")
    back = address_back(request, asked_on, reverse("job", args=[job.key]))
    template = "jobs/stop/question.html" if wants_part(request) else "jobs/stop.html"
    return render(request, template, {"job": job, "back": back})


def _live(job: Job, user: User) -> dict[str, Any]:
    context = standing(job, user)
    return context | checks_shown(job) | workers_shown(context["attempt"]) | {"events": events_shown(job)}


def _rendered(context: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """The live parts, each with a name for what it shows."""
    return {name: rendered(f"jobs/detail/{name}.html", context) for name in LIVE_PARTS}


def _versions(shown: dict[str, tuple[str, str]]) -> str:
    return ".".join(version for _html, version in shown.values())


def _asked(job: Job, user: User) -> dict[str, Any]:
    """What was asked for, as it was frozen."""
    spec = job.spec_asked
    return {
        "spec": spec,
        "frozen": job.frozen,
        "framework": FRAMEWORK_LABELS.get(spec.framework, spec.framework),  # type: ignore[call-overload]
        "priority": PRIORITY_LABELS[Priority(job.priority).label_code],
        "start_policy": START_POLICY_LABELS.get(spec.start_policy, spec.start_policy),
        "hang_action": HANG_ACTION_LABELS.get(spec.hang_does, spec.hang_does),
        "command_lines": len(spec.command.splitlines()),
        "env": _env(job, spec, user),
        "tags": [tag.name for tag in job.tags.order_by("pk")],
        "findings": [_finding(f) for f in job.findings],
        **alerts_shown(job, user),
        "may_edit": may_edit(user=user, job=job),
    }


def _related(job: Job, user: User) -> dict[str, Any]:
    """The job that this one was made from with the difference, and those that were made from it."""
    origin = origin_read(job=job, user=user)
    return {
        "origin": origin,
        "differences": difference_rows(origin.differences, origin.channels) if origin else [],
        "copies": copies_read(job=job, user=user),
    }


def _env(job: Job, spec: JobSpec, user: User) -> list[EnvVar]:
    """The variables of the page; a private one with its value only for the person who entered it."""
    own = private_read(job=job, user=user)
    return [EnvVar(v.name, own.get(v.name), True) if v.private else v for v in spec.env]


def _finding(data: dict[str, Any]) -> Finding:
    text = finding_text(data["code"], data["data"])
    return Finding(data["code"], data["field"], data["level"], {"text": text})
