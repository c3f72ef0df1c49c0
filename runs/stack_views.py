"""The page of a job's captured stacks, and asking for a capture."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from jobs.models import Job
from jobs.states import State
from runs.captures import NotRunning, capture_ask
from runs.models import StackCapture
from runs.stack_texts import stack_reason_text
from teams.pages import NOT_CHANGED, part_or_page, plain_id, signed_in, wants_part

MOST_SHOWN = 100


@part_or_page
@require_http_methods(["GET", "HEAD", "POST"])
def job_stacks(request: HttpRequest, key: str) -> HttpResponse:
    """The captures, the newest first, one of them open: `capture`, or of a run (`attempt`) the one that its
    silence led to. A POST asks for another one."""
    user = signed_in(request)
    jobs = Job.objects.for_user(user).light().select_related("pool")
    job: Job = get_object_or_404(jobs, key=key)
    if request.method == "POST":
        try:
            made = capture_ask(job=job, user=user)
        except NotRunning:
            messages.warning(request, _("The job does not run, so it has no stacks now."))
            return redirect("job-stacks", key=key)
        return redirect(reverse("job-stacks", args=[key]) + f"?capture={made.pk}")
    captures = list(StackCapture.objects.of_job(job)[:MOST_SHOWN])
    chosen = _chosen(captures, request.GET.get("capture"), request.GET.get("attempt"))
    if wants_part(request) and chosen is not None and not chosen.finished:
        return HttpResponse(status=NOT_CHANGED)
    context = {
        "job": job,
        "captures": captures,
        "chosen": chosen,
        "workers": _workers(chosen) if chosen else [],
        "why_not": stack_reason_text(**chosen.reason) if chosen and chosen.reason else "",
        "may_ask": job.state == State.RUNNING,
    }
    return render(request, "runs/stacks.html" + ("#chosen" if wants_part(request) else ""), context)


def _chosen(captures: list[StackCapture], asked: str | None, run: str | None) -> StackCapture | None:
    """The one that the address names; else of the run that it names the newest automatic one or, where only
    people have asked, the newest; else the newest of all."""
    if not asked and not run:
        return captures[0] if captures else None
    if not asked:
        number = plain_id(run)
        of_run = [one for one in captures if one.attempt.number == number]
        return next((one for one in of_run if one.automatic), next(iter(of_run), None))
    wanted = plain_id(asked)
    for capture in captures:
        if capture.pk == wanted:
            return capture
    raise Http404


def _workers(capture: StackCapture) -> list[dict[str, Any]]:
    """What was found, with sentences for what was not."""
    found = (capture.result or {}).get("workers", [])
    return [
        worker | {"why_not": _why_not(worker), "processes": [_process(one) for one in worker["processes"]]}
        for worker in found
    ]


def _process(process: dict[str, Any]) -> dict[str, Any]:
    main_first = sorted(process["threads"], key=lambda thread: thread["name"] != "MainThread")
    return process | {"why_not": _why_not(process), "threads": [_thread(t) for t in main_first]}


def _why_not(told: dict[str, Any]) -> str:
    return stack_reason_text(**told["trouble"]) if told["trouble"] else ""


def _thread(thread: dict[str, Any]) -> dict[str, Any]:
    """The innermost function is where it stands."""
    return thread | {"stands": thread["frames"][0] if thread["frames"] else None}
