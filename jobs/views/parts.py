"""What the views of pages and of their parts have in common."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse

View = Callable[..., HttpResponse]


def fresh(view: View) -> View:
    """A page that Back must show as it is now, not as it was."""

    @wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        response["Cache-Control"] = "no-store"
        return response

    return inner


def part(view: View) -> View:
    """A view of a part of a page: whoever has been signed out meanwhile gets a bare 401, not a
    sign-in page in the middle of another; never from a cache."""
    answer = fresh(view)

    @wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return answer(request, *args, **kwargs) if request.user.is_authenticated else HttpResponse(status=401)

    return inner
