"""What every request to the byte listener goes through."""

from __future__ import annotations

from collections.abc import Callable

from django.db import connection
from django.http import HttpRequest, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.utils import translation

Answer = Callable[[HttpRequest], HttpResponseBase]

METHODS = ("GET", "HEAD")
HEADERS = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Apart:
    """A file never runs as the console: cookies are dropped unread, and no browser trusts what is answered.

    A download may last for hours, and keeps no connection to the database.
    """

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        request.META.pop("HTTP_COOKIE", None)
        with translation.override(translation.get_language_from_request(request)):
            response = self.get_response(request)
        for name, value in HEADERS.items():
            response[name] = value
        if not connection.in_atomic_block:  # as it never is but in tests
            connection.close()
        return response


class Addressed:
    """Reading only, and only under the listener's own host names."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        request.get_host()
        if request.method not in METHODS:
            return HttpResponseNotAllowed(METHODS)
        return self.get_response(request)
