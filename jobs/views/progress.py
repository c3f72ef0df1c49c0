"""The progress of one job, opened from its row in the list."""

from __future__ import annotations

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from jobs.texts import duration_forms
from jobs.views.parts import NOT_CHANGED, fresh, rendered, wants_part
from jobs.views.standing import jobs_shown, standing
from teams.views import signed_in


@fresh
@require_safe
def job_progress(request: HttpRequest, key: str) -> HttpResponse:
    """What the job does or waits for now: a part for htmx, which asks again while it is open; else a page."""
    wanted = wants_part(request)
    if not request.user.is_authenticated:
        return HttpResponse(status=401) if wanted else redirect_to_login(request.path)
    user = signed_in(request)
    context = standing(get_object_or_404(jobs_shown(user).light(), key=key), user)
    html, version = rendered("jobs/progress/inner.html", context)
    if wanted and request.GET.get("seen") == version:
        return HttpResponse(status=NOT_CHANGED)
    context |= {"html": html, "seen": version, "forms": duration_forms()}
    answer = render(request, "jobs/progress/body.html" if wanted else "jobs/progress.html", context)
    patch_vary_headers(answer, ["HX-Request"])
    return answer
