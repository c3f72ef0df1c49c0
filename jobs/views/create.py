"""The page on which a job is created, and its live part."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from jobs.forms import JobForm, summary_of
from jobs.idempotency import job_create_once
from jobs.services import RequestRefused, job_estimate
from jobs.views.parts import part
from teams.views import signed_in

ONLY_LOOKS = ("look", "add_row")  # buttons that work without JavaScript and create nothing


@login_required
@require_http_methods(["GET", "POST"])
def create(request: HttpRequest) -> HttpResponse:
    """The empty form; or the job, if what was posted breaks no rule; or the form with all that was typed."""
    user = signed_in(request)
    if request.method == "GET":
        return _page(request, JobForm(user), status=200)
    form = JobForm(user, request.POST)
    if any(name in request.POST for name in ONLY_LOOKS):
        return _page(request, form, status=200)
    if not form.unclear:
        try:
            return _created(request, form)
        except RequestRefused as refused:
            form.accept(refused.findings)
            return _page(request, form, status=422)
    form.accept(job_estimate(user=user, spec=form.job_spec()).errors)
    return _page(request, form, status=422)


def _created(request: HttpRequest, form: JobForm) -> HttpResponse:
    token = form.cleaned_data.get("token") or ""
    typed = {name: values for name, values in request.POST.lists() if name != "csrfmiddlewaretoken"}
    job, first = job_create_once(user=form.user, spec=form.job_spec(), token=token, typed=typed)
    if first:
        messages.success(request, _("Created."))
    else:
        messages.info(request, _("This form was sent before: here is the job it created."))
    answer = HttpResponse(status=303)
    answer["Location"] = reverse("job", args=[job.key])
    return answer


def _page(request: HttpRequest, form: JobForm, status: int) -> HttpResponse:
    summary = summary_of(form)
    if status != 200:
        form.mark()
    context = {"form": form, "offer": form.offer, "summary": summary, "refused": status != 200}
    return render(request, "jobs/create.html", context, status=status)


@part
@require_POST
def estimate(request: HttpRequest) -> HttpResponse:
    """The summary and the numbers on the spec cards; after a change of team or pool also what these offer."""
    form = JobForm(signed_in(request), request.POST)
    context = {
        "form": form,
        "offer": form.offer,
        "summary": summary_of(form),
        "live": True,
        "team_changed": request.POST.get("shown_team", "") != str(form.offer.team or ""),
        "pool_changed": request.POST.get("shown_pool", "")
        != str(form.offer.pool.id if form.offer.pool else ""),
    }
    return render(request, "jobs/create/live.html", context)
