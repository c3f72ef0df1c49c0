"""Answers with bytes, whole or from any byte on: ranges, validators and HEAD, by way of Werkzeug."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Protocol

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header
from werkzeug.exceptions import RequestedRangeNotSatisfiable
from werkzeug.http import parse_range_header
from werkzeug.wrappers import Response


class Source(Protocol):
    """Bytes that can be read from any of them on: an iterator of chunks with `seek` and `tell`."""

    size: int

    @property
    def name(self) -> str:
        """What the file is called where it is saved."""
        ...

    @property
    def etag(self) -> str:
        """Another one whenever a byte differs."""
        ...

    @property
    def modified_at(self) -> datetime | None: ...

    def __iter__(self) -> Iterator[bytes]: ...


def bytes_answer(request: HttpRequest, source: Source, content_type: str) -> HttpResponseBase:
    """200, 206, 304, 412 or 416, as a file to save."""
    answer = Response(source, content_type=content_type, direct_passthrough=True)
    answer.set_etag(source.etag)
    if modified_at := source.modified_at:  # None would be sent as “now”
        answer.last_modified = modified_at
    answer.content_length = source.size
    environ = _with_one_range(request)
    try:
        answer.make_conditional(environ, accept_ranges=True, complete_length=source.size)
    except RequestedRangeNotSatisfiable:
        refused = HttpResponse(status=416, content_type="text/plain; charset=utf-8")
        refused["Content-Range"] = f"bytes */{source.size}"
        return refused
    chunks, status, headers = answer.get_wsgi_response(environ)
    streamed = StreamingHttpResponse(chunks, status=int(status.split()[0]), headers=dict(headers))
    streamed["Content-Disposition"] = content_disposition_header(True, source.name)
    del streamed["Date"]  # the server's
    return streamed


def _with_one_range(request: HttpRequest) -> dict[str, str]:
    """The request without a Range that is none, or that asks for several: those get the whole file."""
    environ = dict(request.META)
    asked = parse_range_header(environ.get("HTTP_RANGE"))
    if asked is None or asked.units != "bytes" or len(asked.ranges) != 1:
        environ.pop("HTTP_RANGE", None)
    return environ
