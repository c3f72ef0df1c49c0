"""The progress of one job, opened from its row in the list."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from jobs.texts import duration_forms
from jobs.views.parts import rendered
from jobs.views.standing import jobs_shown, standing
from teams.pages import NOT_CHANGED, part_or_page, signed_in, wants_part


@part_or_page
@require_safe
def job_progress(request: HttpRequest, key: str) -> HttpResponse:
    """What the job does or waits for now: a part for htmx, which asks again while it is open; else a page."""
    user, wanted = signed_in(request), wants_part(request)
    context = standing(get_object_or_404(jobs_shown(user).light(), key=key), user)
    html, version = rendered("jobs/progress/inner.html", context)
    if wanted and request.GET.get("seen") == version:
        return HttpResponse(status=NOT_CHANGED)
    context |= {"html": html, "seen": version, "forms": duration_forms()}
    return render(request, "jobs/progress/body.html" if wanted else "jobs/progress.html", context)
