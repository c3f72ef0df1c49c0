"""The bell, which is on every page."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from alerts.inbox import Unread, unread_read
from teams.models import User


def bell(request: HttpRequest) -> dict[str, Any]:
    """Context of every page: what is unread, asked only where the bell is drawn."""
    user = getattr(request, "user", None)
    return {"unread": SimpleLazyObject(lambda: unread_read(user) if isinstance(user, User) else Unread())}
