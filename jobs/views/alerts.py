"""Which channels are told of what of a job that exists: looked at on its page, and changed until its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from alerts.models import Delivery
from alerts.rules import Subject
from jobs.alerting import alerts_seen
from jobs.editing import Edit, HasEnded, job_edit, may_edit
from jobs.facts import ChannelFacts
from jobs.forms.alerts import ASKED, AlertRows, alert_values
from jobs.models import Job
from jobs.reading import channels_read
from jobs.services import RequestRefused
from jobs.texts.alerts import alert_text, hidden_text
from jobs.views.standing import jobs_shown
from teams.models import User
from teams.pages import fresh, part, plain_id, signed_in, teams_of


def alerts_shown(job: Job, user: User) -> dict[str, Any]:
    """A line for each alert, without the names of channels that are none of the user's business, and whether
    notices were sent to channels that may not be asked for any more."""
    alerts = [
        alert_text(one.events, one.minutes, one.name or hidden_text())
        for one in alerts_seen(job=job, user=user)
    ]
    noticed = bool(alerts) or Delivery.objects.of_subject(Subject.JOB, job.pk, user).exists()
    return {"alerts": alerts, "noticed": noticed}


@fresh
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def job_alerts(request: HttpRequest, key: str) -> HttpResponse:
    """The rows of the creation form, for its creator and team admins; a POST changes what the job has."""
    user = signed_in(request)
    job: Job = get_object_or_404(jobs_shown(user).light(), key=key)
    if not may_edit(user=user, job=job):
        raise PermissionDenied
    channels = channels_read(user.pk, job.team_id)
    if ASKED not in request.POST:
        mine = [alert for alert in job.alerts if alert.channel in channels]
        return _page(request, job, channels, AlertRows(MultiValueDict(alert_values(mine))))
    rows = AlertRows(request.POST)
    if "add_row" in request.POST:
        return _page(request, job, channels, rows)
    asked = rows.asked or ()
    if rows.unclear:
        return _page(request, job, channels, rows, status=422)
    try:
        job_edit(job=job, actor=user, edit=Edit(alerts=asked))
    except RequestRefused as refused:
        rows.accept(refused.findings)
        return _page(request, job, channels, rows, status=422)
    except HasEnded:
        messages.warning(request, _("The job has ended: nobody is told of anything more."))
    else:
        messages.success(request, _("The alerts of the job were changed."))
    return redirect(reverse("job", args=[key]))


@part
@require_safe
def channels(request: HttpRequest) -> HttpResponse:
    """The choices of a row of alerts for jobs of a team of the user, as they are now."""
    asked = plain_id(request.GET.get("team"))
    if asked not in [team.pk for team in teams_of(request)]:
        raise Http404
    context = {"channels": _sorted(channels_read(signed_in(request).pk, asked))}
    return render(request, "jobs/alerts/channels.html", context)


def _sorted(channels: Mapping[int, ChannelFacts]) -> list[ChannelFacts]:
    return sorted(channels.values(), key=lambda channel: (channel.name, channel.id))


def _page(
    request: HttpRequest,
    job: Job,
    channels: Mapping[int, ChannelFacts],
    rows: AlertRows,
    *,
    status: int = 200,
) -> HttpResponse:
    others = [
        alert for alert in alerts_seen(job=job, user=signed_in(request)) if alert.channel not in channels
    ]
    context: dict[str, Any] = {
        "job": job,
        "rows": rows.shown,
        "channels": _sorted(channels),
        "others": [alert_text(one.events, one.minutes, one.name or hidden_text()) for one in others],
        "errors": rows.errors,
    }
    return render(request, "jobs/alerts.html", context, status=status)
