"""One POST to an address that somebody entered: guarded, bounded, tried once.

It connects to an address that was checked, under the name that was given: a name that is resolved anew
between check and connection would not be checked. It follows no redirect, asks no proxy, keeps no cookie.
"""

from __future__ import annotations

import os
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import lru_cache
from http.client import HTTPConnection, HTTPException, HTTPResponse
from time import monotonic

from django.conf import settings
from django.utils import timezone

from alerts.senders.addresses import PORTS, Place, Wrong, addresses_of, place_of
from alerts.senders.outcomes import Later, Outcome, Refused, Sent

MOST_BYTES = 64 * 1024  # of an answer; what comes after that is not read
LONGEST_AFTER = 3600  # seconds that a receiver may ask us to wait
_TRY_AGAIN = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class Answer:
    """`broken` says why not all of the body came, if it did not; the status did."""

    status: int
    body: bytes
    after: int | None = None
    broken: Later | None = None


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of a whole exchange, some seconds from now."""

    seconds: float
    began: float = field(default_factory=monotonic)

    def left(self) -> float:
        return self.began + self.seconds - monotonic()


def post(url: str, body: bytes, headers: Mapping[str, str] | None = None) -> Answer | Refused | Later:
    """What came back for a JSON body, within `ALERT_SECONDS` for all of it."""
    deadline = Deadline(settings.ALERT_SECONDS)
    try:
        place = place_of(url)
        addresses = addresses_of(place.host, place.port, deadline.left())
        with _connected(addresses, place.port, deadline) as plain, cut_off(plain, deadline):
            return _exchanged(place, plain, body, headers or {}, deadline)
    except Wrong as wrong:
        return Later(wrong.code) if wrong.code == "address_unknown" else Refused(wrong.code, wrong.data)
    except (OSError, HTTPException, ValueError) as error:
        return _later(error, deadline)


def by_status(answer: Answer) -> Outcome:
    """What the HTTP status alone says."""
    data = {"status": answer.status}
    if 200 <= answer.status < 300:
        return Sent()
    if answer.status in _TRY_AGAIN or answer.status >= 500:
        return Later("status", data | ({} if answer.after is None else {"after": answer.after}))
    return Refused("redirect" if 300 <= answer.status < 400 else "status", data)


@contextmanager
def cut_off(plain: socket.socket, deadline: Deadline) -> Iterator[None]:
    """Ends the connection at the deadline. A timeout of the socket would not: it begins anew with each byte.

    The twin is the same connection; `plain` itself is nothing any more once TLS is put over it.
    """
    twin = socket.socket(fileno=os.dup(plain.fileno()))

    def cut() -> None:
        with suppress(OSError):
            twin.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(deadline.left(), 0), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        twin.close()


def _connected(addresses: Sequence[str], port: int, deadline: Deadline) -> socket.socket:
    """To the first of the addresses that takes a connection."""
    for address in addresses[:-1]:
        with suppress(OSError):
            return socket.create_connection((address, port), timeout=max(deadline.left() / 2, 0.001))
    return socket.create_connection((addresses[-1], port), timeout=max(deadline.left(), 0.001))


def _exchanged(
    place: Place, plain: socket.socket, body: bytes, headers: Mapping[str, str], deadline: Deadline
) -> Answer:
    connection = HTTPConnection(place.host, place.port)
    connection.default_port = PORTS[place.scheme]  # which the Host header leaves out
    connection.sock = plain
    if place.scheme == "https":
        connection.sock = _trust(settings.ALERT_CA_FILE).wrap_socket(plain, server_hostname=place.host)
    try:
        sent = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "Trainyard", **headers}
        connection.request("POST", place.path, body, {**sent, "Connection": "close"})
        response = connection.getresponse()
        if deadline.left() <= 0:  # in the middle of the head, which looks like its end
            raise TimeoutError
        return _read(response, deadline)
    finally:
        connection.close()


def _read(response: HTTPResponse, deadline: Deadline) -> Answer:
    """What was cut off after the status is an answer all the same: the receiver did say that."""
    body, broken = b"", None
    try:
        body = response.read(MOST_BYTES)
        if len(body) < MOST_BYTES and (response.length or deadline.left() <= 0):
            broken = _later(EOFError(), deadline)
    except (OSError, HTTPException, ValueError) as error:
        broken = _later(error, deadline)
    finally:
        response.close()
    return Answer(response.status, body, _after(response.headers.get("Retry-After")), broken)


def _later(error: Exception, deadline: Deadline) -> Later:
    if isinstance(error, TimeoutError) or deadline.left() <= 0:
        return Later("timeout", {"seconds": deadline.seconds})
    if isinstance(error, ssl.SSLCertVerificationError):
        return Later("certificate", {"reason": error.verify_message})
    if isinstance(error, ssl.SSLError):
        return Later("tls")
    return Later("connection" if isinstance(error, OSError) else "answer_broken")


def _after(text: str | None) -> int | None:
    """Seconds of a Retry-After header, which has them or a date; bounded."""
    if text is None:
        return None
    if text.strip().isdecimal():
        seconds = float(text[:12])
    else:
        try:
            seconds = (parsedate_to_datetime(text) - timezone.now()).total_seconds()
        except (ValueError, TypeError):
            return None
    return int(min(max(seconds, 0), LONGEST_AFTER))


@lru_cache(maxsize=4)
def _trust(file: str) -> ssl.SSLContext:
    """The system's authorities, and those of a file that a site adds."""
    context = ssl.create_default_context()
    if file:
        context.load_verify_locations(file)
    return context
