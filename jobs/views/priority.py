"""Another priority for a waiting job: a question in a dialog, or on a page of its own."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from jobs.editing import Edit, NotWaiting, job_edit, may_edit, may_use_high
from jobs.models import Job
from jobs.services import RequestRefused
from jobs.states import PRIORITY_CODES, Priority, State
from jobs.texts import PRIORITY_LABELS, finding_text
from jobs.views.standing import jobs_shown
from teams.pages import part_or_page, signed_in, wants_part


@part_or_page
@require_http_methods(["GET", "HEAD", "POST"])
def job_priority(request: HttpRequest, key: str) -> HttpResponse:
    """Asks which; a POST changes it, or says that the job does not wait any more."""
    user = signed_in(request)
    job: Job = get_object_or_404(jobs_shown(user).light(), key=key)
    if not may_edit(user=user, job=job):
        raise PermissionDenied
    if request.method != "POST":
        high = may_use_high(user=user, job=job)
        codes = [code for code in PRIORITY_CODES if high or code != "high" or job.priority == Priority.HIGH]
        context = {
            "job": job,
            "waits": job.state == State.QUEUED and not job.stopping,
            "choices": [(code, PRIORITY_LABELS[code], Priority.of(code) == job.priority) for code in codes],
            "may_high": high,
        }
        template = "jobs/priority/question.html" if wants_part(request) else "jobs/priority.html"
        return render(request, template, context)
    _change(request, job, request.POST.get("priority", ""))
    return redirect(reverse("job", args=[key]))


def _change(request: HttpRequest, job: Job, code: str) -> None:
    try:
        job_edit(job=job, actor=signed_in(request), edit=Edit(priority=code))
    except NotWaiting:
        messages.warning(request, _("The job does not wait any more: its priority stays as it was."))
    except RequestRefused as refused:
        for finding in refused.findings:
            messages.error(request, finding_text(finding.code, finding.data))
    else:
        messages.success(request, _("The priority is %(name)s now.") % {"name": PRIORITY_LABELS[code]})
