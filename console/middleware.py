"""What every request goes through."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import unquote

from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

Answer = Callable[[HttpRequest], HttpResponseBase]


class NoNulCharacters:
    """A NUL in a page's query is a 400: PostgreSQL takes none, and no page wants one. REST says so itself."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if "\0" in unquote(request.META.get("QUERY_STRING", "")) and not request.path.startswith("/api/"):
            raise BadRequest(_("The address contains a character that cannot be used."))
        return self.get_response(request)
