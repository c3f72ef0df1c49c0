"""What the byte listener says where there is nothing to send: one line of plain text."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _said(_("Downloads are not served under this name or address."), 400)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _said(_("There is nothing here, or nothing that you may see."), 404)


def server_error(request: HttpRequest) -> HttpResponse:
    return _said(_("The console made a mistake. It has been written to its log."), 500)


def _said(text: str, status: int) -> HttpResponse:
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")
