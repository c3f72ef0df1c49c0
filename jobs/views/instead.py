"""What would start now in place of a waiting job: a part of its page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from jobs.forms.taking_over import Offered, offered_of
from jobs.instead import instead_of
from jobs.models import Job
from jobs.services import may_stop
from jobs.states import State
from teams.models import User
from teams.pages import part, signed_in


@part
@require_safe
def job_instead(request: HttpRequest, key: str) -> HttpResponse:
    """Empty for who may not replace it, and where it waits no more."""
    user = signed_in(request)
    job = get_object_or_404(Job.objects.for_user(user), key=key)
    waits = job.state == State.QUEUED and not job.stopping
    found = _offered(job, user) if waits and may_stop(user=user, job=job) else []
    return render(request, "jobs/detail/instead_list.html", {"alternatives": found})


def _offered(job: Job, user: User) -> list[tuple[Offered, str]]:
    """What would start now in the job's place, and where it can be made so."""
    offered = offered_of(instead_of(job=job, user=user))
    asked = [(one, QueryDict(mutable=True)) for one in offered]
    for one, query in asked:
        query.update({"from": job.key, "replace": "1", "adopt": one.values})
    return [(one, f"{reverse('job-create')}?{query.urlencode()}") for one, query in asked]
