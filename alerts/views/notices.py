"""The list of a person's notices, and the bell at the top of every page."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from alerts.inbox import lines_read, reading_done, readings_done, unread_read
from alerts.models import Reading
from alerts.subjects import told
from teams.pages import NOT_CHANGED, fresh, part, plain_id, posted, signed_in, wants_part

PAGE_SIZE = 30
IN_MENU = 8
CHANGED = "notices"  # tells the menu of the bell that it shows something old


@fresh
@login_required
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """The newest ones, or those before one of them (`before`)."""
    before = plain_id(request.GET.get("before"))
    lines = lines_read(signed_in(request), PAGE_SIZE + 1, before)
    context = {"lines": lines[:PAGE_SIZE], "more": len(lines) > PAGE_SIZE, "later": before is not None}
    return render(request, "alerts/notices.html", context)


@fresh
@login_required
@require_safe
def follow(request: HttpRequest, pk: int) -> HttpResponse:
    """To what a notice is about; it has been read then."""
    mine = Reading.objects.filter(user=signed_in(request)).select_related("notice")
    reading = get_object_or_404(mine, pk=pk)
    if request.method == "GET":
        reading_done(reading=reading)
    return redirect(told(reading.notice).path)


@login_required
@posted("notices")
def all_read(request: HttpRequest) -> HttpResponse:
    """All that the page or the menu showed, and what is older; for the menu with what it shows now."""
    readings_done(user=signed_in(request), upto=plain_id(request.POST.get("upto")))
    answer = _menu(request, bell=True) if wants_part(request) else redirect("notices")
    patch_vary_headers(answer, ["HX-Request"])
    return answer


@part
@require_safe
def bell(request: HttpRequest) -> HttpResponse:
    """How many are unread; nothing while the page shows just that (`seen`)."""
    unread = unread_read(signed_in(request))
    if request.GET.get("seen") == unread.seen:
        return HttpResponse(status=NOT_CHANGED)
    answer = render(request, "alerts/bell.html", {"unread": unread})
    answer["HX-Trigger"] = CHANGED
    return answer


@part
@require_safe
def bell_menu(request: HttpRequest) -> HttpResponse:
    """The newest notices, read when the menu is opened."""
    return _menu(request, bell=False)


def _menu(request: HttpRequest, *, bell: bool) -> HttpResponse:
    context: dict[str, Any] = {"lines": lines_read(signed_in(request), IN_MENU), "with_bell": bell}
    return render(request, "alerts/bell_menu.html", context)
