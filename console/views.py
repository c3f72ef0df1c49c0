"""Home, alerts and health."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from console.attention import Scope, attention_read
from console.home import SHOWN_JOBS, ended_jobs, live_jobs, moving_read, rows_read, tiles_read
from jobs.texts import duration_forms
from teams.pages import NOT_CHANGED, chosen_team, fresh, part, signed_in
from teams.services import admin_names

SHOWN_RECENT = 6


@fresh
@login_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    scope = _scope(request)
    moving = moving_read(scope, live_jobs(scope))
    recent = rows_read(ended_jobs(scope), SHOWN_RECENT)
    context = {
        "tiles": tiles_read(scope, moving.counts),
        "is_new": not moving.rows and not recent,
        "moving": moving,
        "admins": [] if moving.pools else admin_names(user=scope.user, team=scope.team),
        "recent": recent,
        "attention": attention_read(scope, mine=True),
        "forms": duration_forms(),
    }
    return render(request, "console/home.html", context)


@part
@require_safe
def home_live(request: HttpRequest) -> HttpResponse:
    """The numbers and states on somebody's start page, in the rows that it has; nothing if none changed."""
    scope = _scope(request)
    keys = request.GET.get("keys", "").split(",")[:SHOWN_JOBS]
    moving = moving_read(scope, scope.jobs(mine=True).filter(key__in=keys))
    if request.GET.get("seen") == moving.digest:
        return HttpResponse(status=NOT_CHANGED)
    context = {"moving": moving, "tiles": tiles_read(scope, moving.counts), "live": True}
    return render(request, "console/home.html#moving", context)


@fresh
@login_required
@require_safe
def alerts(request: HttpRequest) -> HttpResponse:
    """What deserves attention: the person's own jobs, or with `whose=team` those of all."""
    mine = request.GET.get("whose") != "team"
    context = {"groups": attention_read(_scope(request), mine=mine), "mine": mine}
    return render(request, "console/alerts.html", context)


def _scope(request: HttpRequest) -> Scope:
    return Scope(signed_in(request), chosen_team(request))


@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 while the database answers; an error of the database becomes a 503."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Exception:  # whatever keeps the database from answering, the answer is the same
        return HttpResponse("no database", status=503, content_type="text/plain")
    return HttpResponse("ok", content_type="text/plain")
