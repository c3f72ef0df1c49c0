"""The list of jobs, and the live state of its rows."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Count, Exists, OuterRef, Prefetch, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from jobs.models import Job, JobTag
from jobs.querysets import JobQuerySet
from jobs.states import State
from jobs.texts import state_label
from jobs.views.parts import fresh, part
from teams.views import signed_in

PAGE_SIZE = 20
MOST_STATES = 100  # keys in one question for states
POLL_HTTP_STOP = 286  # htmx's word for “do not ask again”


@fresh
@login_required
@require_safe
def job_list(request: HttpRequest) -> HttpResponse:
    """Newest first; the next page begins after the last row of this one, so new jobs shift nothing."""
    mine = Job.objects.for_user(signed_in(request))
    search, state = request.GET.get("search", "").strip(), request.GET.get("state", "")
    found = _searched(mine, search)
    counts = dict(found.order_by().values_list("state").annotate(n=Count("pk")))
    state = state if state in set(State) else ""
    rows = _page(found.filter(state=state) if state else found, request.GET.get("before", ""))
    more = rows[PAGE_SIZE:]
    rows = rows[:PAGE_SIZE]
    context = {
        "jobs": rows,
        "live_keys": ",".join(job.key for job in rows if not job.finished),
        "search": search,
        "state": state,
        "paged": "before" in request.GET,
        "tabs": _tabs(counts, search, state),
        "next": _address(state=state, search=search, before=rows[-1].key) if more else "",
        "first": _address(state=state, search=search),
        "any": bool(rows) or mine.exists(),
    }
    return render(request, "jobs/list.html", context)


@part
@require_safe
def states(request: HttpRequest) -> HttpResponse:
    """The state cells of the rows on somebody's screen; asks to stop when nothing can change any more."""
    keys = request.GET.get("keys", "").split(",")[:MOST_STATES]
    jobs = list(Job.objects.for_user(signed_in(request)).light().filter(key__in=keys))
    ended = all(job.finished for job in jobs)
    return render(
        request,
        "jobs/list.html#states",
        {"jobs": jobs, "live": True},
        status=POLL_HTTP_STOP if ended else 200,
    )


def _searched(jobs: JobQuerySet, search: str) -> JobQuerySet:
    if not search:
        return jobs
    tagged = Exists(JobTag.objects.filter(job=OuterRef("pk"), name__icontains=search))
    words = Q(name__icontains=search) | Q(key=search) | Q(tagged)
    return jobs.filter(words | Q(creator__username__iexact=search))


def _page(jobs: JobQuerySet, before: str) -> list[Any]:
    if before:
        border = Job.objects.filter(key=before).values_list("pk", flat=True).first()
        jobs = jobs.filter(pk__lt=border or 0)
    tags = Prefetch("tags", JobTag.objects.order_by("pk"))
    rows = jobs.light().shown().select_related("creator").prefetch_related(tags).order_by("-pk")
    return list(rows[: PAGE_SIZE + 1])


def _tabs(counts: dict[str, int], search: str, chosen: str) -> list[dict[str, Any]]:
    """The filters by state, each with its number of jobs; the empty state stands for all."""
    numbers = {"": sum(counts.values()), **{str(s): counts.get(s, 0) for s in State}}
    return [
        {
            "state": state,
            "label": state_label(state) if state else "",
            "count": count,
            "address": _address(state=state, search=search),
            "chosen": state == chosen,
        }
        for state, count in numbers.items()
    ]


def _address(**query: str) -> str:
    return "?" + urlencode({name: value for name, value in query.items() if value})
