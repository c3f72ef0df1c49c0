"""What became of the notices of a job."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from alerts.models import Delivery
from alerts.rules import Subject
from alerts.views.rows import delivery_rows
from jobs.models import Job
from jobs.views.parts import rendered
from teams.pages import NOT_CHANGED, part_or_page, signed_in, wants_part

MOST_SHOWN = 100


@part_or_page
@require_safe
def job_deliveries(request: HttpRequest, key: str) -> HttpResponse:
    """The newest ones: a part of the job's page for htmx, nothing if it shows them already; else a page."""
    user = signed_in(request)
    job = get_object_or_404(Job.objects.for_user(user).light(), key=key)
    found = list(Delivery.objects.of_subject(Subject.JOB, job.pk, user).order_by("-pk")[: MOST_SHOWN + 1])
    context = {"job": job, "rows": delivery_rows(found[:MOST_SHOWN]), "more": len(found) > MOST_SHOWN}
    html, version = rendered("jobs/deliveries/list.html", context)
    if not wants_part(request):
        return render(request, "jobs/deliveries.html", context | {"html": html})
    if request.GET.get("seen") == version:
        return HttpResponse(status=NOT_CHANGED)
    return render(request, "jobs/deliveries/card.html", context | _asked_again(job, html, version))


def _asked_again(job: Job, html: str, version: str) -> dict[str, str]:
    address = reverse("job-deliveries", args=[job.key])
    return {"html": html, "address": f"{address}?seen={version}", "trigger": "every 10s"}
