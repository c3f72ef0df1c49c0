"""Pages of images."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@login_required
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    return render(request, "images/list.html")
