"""Who is asking, where a reverse proxy stands in between (BEHIND_PROXY=1)."""

from __future__ import annotations

from ipaddress import ip_address

from django.http import HttpRequest


def client_address(request: HttpRequest) -> str | None:
    """The address that the proxy saw: the last of X-Forwarded-For. Those before it may be invented."""
    last = request.META.get("HTTP_X_FORWARDED_FOR", "").rpartition(",")[2].strip()
    try:
        return str(ip_address(last))
    except ValueError:
        address: str | None = request.META.get("REMOTE_ADDR")
        return address
