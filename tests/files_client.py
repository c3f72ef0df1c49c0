"""A client of the byte listener, which has addresses and middleware of its own."""

from typing import Any
from urllib.parse import urlsplit

from django.http import HttpResponse
from django.test import Client, override_settings

from console import files_settings

OURS = ("ROOT_URLCONF", "MIDDLEWARE", "ALLOWED_HOSTS")


def fetch(address: str, method: str = "GET", host: str = "127.0.0.1", **headers: str) -> HttpResponse:
    """What the listener answers, as a browser without cookies sees it; `if_range` sends If-Range."""
    sent: Any = {name.replace("_", "-"): value for name, value in headers.items()} | {"Host": host}
    with override_settings(**{name: getattr(files_settings, name) for name in OURS}):
        path = urlsplit(address)._replace(scheme="", netloc="").geturl()
        return Client(raise_request_exception=False).generic(method, path, headers=sent)


def body(answer: HttpResponse) -> bytes:
    """The whole of an answer; the client closes it at its end."""
    data: bytes = answer.getvalue()
    return data
