"""The list of jobs, and what changes in it while somebody looks."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.models import Job, JobTag
from jobs.querysets import JobQuerySet
from jobs.reading import waiting_since
from jobs.states import State
from jobs.texts import count_text, duration_forms, state_label
from jobs.views.filters import JobFilter
from jobs.views.rows import Poll, rows_of
from pools.models import Grant, Pool
from teams.models import Membership, User
from teams.pages import NOT_CHANGED, chosen_team, part, part_or_page, signed_in, viewer_zone, wants_part

PAGE_SIZE = 20
MOST_STATES = 100  # rows in one question for states
MOST_CHOICES = 200
POLL_HTTP_STOP = 286  # htmx's word for “do not ask again”


@part_or_page
@require_safe
def job_list(request: HttpRequest) -> HttpResponse:
    """Newest first; the next page begins after the last row of this one, so new jobs shift nothing."""
    user, asked = signed_in(request), JobFilter.of(request.GET)
    all_jobs, found = _found(request, asked)
    before = _border(user, request.GET.get("before", ""))
    jobs = _page(found.filter(state=asked.state) if asked.state else found, before)
    more, jobs = jobs[PAGE_SIZE:], jobs[:PAGE_SIZE]
    rows = rows_of(jobs, user, asked, timezone.now())
    live = [(row.job.key, row.version) for row in rows if not row.job.finished]
    context = {
        "rows": rows,
        "poll": Poll(asked, live, newest=rows[0].job.key if rows and not before else ""),
        "asked": asked,
        "paged": before is not None,
        "tabs": _tabs(found, asked),
        "next": asked.address(before=jobs[-1].key) if more else "",
        "first": asked.address(),
        "everyone": asked.with_(mine="").address(),
        "own": asked.with_(mine="1", creator="").address(),
        "without_tag": asked.with_(tag="").address(),
        "here": asked.address(before=request.GET.get("before", "") if before else ""),
        "any": bool(rows) or all_jobs.exists(),
        "all_teams": chosen_team(request) is None,
        "forms": duration_forms(),
        "zone": viewer_zone(request).key,
    }
    return _answer(request, context)


def _answer(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """For htmx only what a filter changes, with the address that says so; else a whole page."""
    if wants_part(request):
        answer = render(request, "jobs/list/part.html", context)
        answer["HX-Push-Url"] = (reverse("jobs") + context["here"]).rstrip("?")
    else:
        answer = render(request, "jobs/list.html", context | _choices(request, context["asked"]))
    return answer


@part
@require_safe
def states(request: HttpRequest) -> HttpResponse:
    """The rows on somebody's screen that have changed, and how many jobs are new; asks to stop when nothing
    can change any more."""
    user, asked = signed_in(request), JobFilter.of(request.GET)
    keys = request.GET.get("keys", "").split(",")[:MOST_STATES]
    seen = dict(zip(keys, request.GET.get("seen", "").split(","), strict=False))
    jobs = Job.objects.for_user(user).light().filter(key__in=keys)
    jobs = jobs.annotate(waiting_since=waiting_since()).order_by("-pk")
    rows = rows_of(jobs, user, asked, timezone.now())
    newest = request.GET.get("newest", "")
    news = _news(request, asked, newest)
    changed = [row for row in rows if seen.get(row.job.key) != row.version]
    live = [(row.job.key, row.version) for row in rows if not row.job.finished]
    if live and not changed and str(news or "") == request.GET.get("news", ""):
        return HttpResponse(status=NOT_CHANGED)
    poll = Poll(asked, live, newest, news)
    context = {"rows": changed, "poll": poll, "first": asked.address(), "live": True}
    status = 200 if live else POLL_HTTP_STOP
    return render(request, "jobs/list/states.html", context, status=status)


def _found(request: HttpRequest, asked: JobFilter) -> tuple[JobQuerySet, JobQuerySet]:
    """All jobs of the team that is shown, and those of them that are asked for, but for their state."""
    user, team = signed_in(request), chosen_team(request)
    jobs = Job.objects.for_user(user, team)
    return jobs, asked.but_state(jobs, user, viewer_zone(request), timezone.now())


def _border(user: User, before: str) -> int | None:
    """None where there is no such job of the user: the first page."""
    return (
        Job.objects.for_user(user).filter(key=before).values_list("pk", flat=True).first() if before else None
    )


def _page(jobs: JobQuerySet, before: int | None) -> list[Any]:
    if before is not None:
        jobs = jobs.filter(pk__lt=before)
    tags = Prefetch("tags", JobTag.objects.order_by("pk"))
    rows = jobs.light().shown().select_related("creator", "team").prefetch_related(tags)
    return list(rows.annotate(waiting_since=waiting_since()).order_by("-pk")[: PAGE_SIZE + 1])


def _news(request: HttpRequest, asked: JobFilter, newest: str) -> int:
    """How many jobs that are asked for are younger than the youngest on the screen."""
    border = _border(signed_in(request), newest)
    if border is None:
        return 0
    _all_jobs, found = _found(request, asked)
    found = found.filter(state=asked.state) if asked.state else found
    return found.filter(pk__gt=border).order_by()[:MOST_CHOICES].count()


def _tabs(found: JobQuerySet, asked: JobFilter) -> list[dict[str, Any]]:
    """The filters by state, each with its number of jobs, up to a bound; the empty state stands for all."""
    counts = {str(s): found.filter(state=s).counted() for s in State}
    numbers = {"": sum(counts.values()), **counts}
    return [
        {
            "state": state,
            "label": state_label(state) if state else "",
            "count": count_text(count),
            "address": asked.with_(state=state).address(),
            "chosen": state == asked.state,
        }
        for state, count in numbers.items()
    ]


def _choices(request: HttpRequest, asked: JobFilter) -> dict[str, Any]:
    """Pools and people to choose from; what is chosen already is always among them."""
    user, team = signed_in(request), chosen_team(request)
    teams = [team.pk] if team else list(Membership.objects.filter(user=user).values_list("team", flat=True))
    granted = Exists(Grant.objects.filter(pool=OuterRef("pk"), team__in=teams))
    member = Exists(Membership.objects.filter(user=OuterRef("pk"), team__in=teams))
    pools = Pool.objects.filter(granted).order_by("name", "pk").values_list("pk", "name")
    people = User.objects.filter(member).order_by("username").values_list("username", flat=True)
    names = list(people[:MOST_CHOICES])
    offered = [(str(pk), name) for pk, name in pools[:MOST_CHOICES]]
    if asked.pool and asked.pool not in dict(offered):
        offered.append((asked.pool, f"#{asked.pool}"))
    if asked.creator and asked.creator not in names:
        names.append(asked.creator)
    return {"pools": offered, "people": names}
