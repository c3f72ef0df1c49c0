"""The trial run of a form, and the card beside the form that says how it goes."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from jobs.forms import JobForm
from jobs.forms.trial import trial_made
from jobs.models import Job
from jobs.services import RequestRefused
from jobs.texts import finding_text
from jobs.trials import trials_of
from jobs.views.parts import rendered
from jobs.views.standing import jobs_shown, log_rank, standing
from teams.models import User
from teams.pages import NOT_CHANGED, part, signed_in


@part
@require_http_methods(["GET", "HEAD", "POST"])
def trial(request: HttpRequest) -> HttpResponse:
    """The card of the form's latest trial; a POST makes one first. Nothing to swap without a trial, and while
    the page has it as it is (`seen`). `earlier` is set on a card that came instead of that of a new trial."""
    user = signed_in(request)
    if request.method == "POST":
        return _made(request, user)
    latest = trials_of(user, request.GET.get("draft", "")).values_list("pk", flat=True).first()
    if latest is None:
        return HttpResponse(status=NOT_CHANGED)
    earlier = request.GET.get("earlier") == "1"
    return _card(user, latest, earlier=earlier, seen=request.GET.get("seen", ""))


def _made(request: HttpRequest, user: User) -> HttpResponse:
    if request.POST.get("typed_by", "") not in ("", str(user.pk)):
        return HttpResponse(status=401)  # whoever looks at the form is signed out
    form = JobForm(user, request.POST)
    try:
        job, first = trial_made(form)
        return _card(user, job.pk, earlier=not first)
    except RequestRefused as refused:
        wrong = [(form.label_of(f.field), finding_text(f.code, f.data)) for f in refused.findings]
        wrong += [(form.label_of(u.field), u.text) for u in form.unclear]
        return render(request, "jobs/create/trial_refused.html", {"wrong": wrong}, status=422)


def _card(user: User, pk: int, *, earlier: bool, seen: str = "") -> HttpResponse:
    job = jobs_shown(user).light().get(pk=pk)
    html, version = rendered("jobs/create/trial_card.html", _context(job, user) | {"earlier": earlier})
    if seen == version:
        return HttpResponse(status=NOT_CHANGED)
    poll, _version = rendered(
        "jobs/create/trial.html", {"trial": job, "card": html, "seen": version, "earlier": earlier}
    )
    return HttpResponse(poll)


def _context(job: Job, user: User) -> dict[str, Any]:
    context = standing(job, user)
    return context | {"log_rank": log_rank(job, context["attempt"])}
