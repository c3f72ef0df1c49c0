"""Where an address of a channel leads to, and whether the console may go there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from socket import SOCK_STREAM, getaddrinfo
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from alerts.senders.patience import within

PORTS = {"http": 80, "https": 443}
MOST_CHARACTERS = 2000
_FORBIDDEN = re.compile(r"[\s\\\x00-\x1f\x7f]")

# Networks that lead to the machine, its site or its cloud, and that `ipaddress` does not call private
# everywhere: among them the metadata services of Azure and Oracle Cloud, and NAT64 of a site's own.
_NEVER = tuple(
    ip_network(network)
    for network in ("192.0.0.0/24", "168.63.129.16/32", "64:ff9b:1::/48", "fec0::/10", "3fff::/20")
)
_NAT64 = ip_network("64:ff9b::/96")
_COMPATIBLE = ip_network("::/96")
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)

Address = IPv4Address | IPv6Address


class Wrong(Exception):
    """An address that is not used; code and data as in `alerts.senders.outcomes`."""

    def __init__(self, code: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(code)
        self.code, self.data = code, data or {}


@dataclass(frozen=True, slots=True)
class Place:
    """A URL in parts. `host` is in ASCII, without a dot at its end; `path` has the query too."""

    scheme: str
    host: str
    port: int
    path: str


def place_of(url: str) -> Place:
    """Wrong if it is no URL of http or https with a host and without a user."""
    if len(url) > MOST_CHARACTERS or _FORBIDDEN.search(url):
        raise Wrong("address_form")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise Wrong("address_form") from None
    if parts.scheme not in PORTS:
        raise Wrong("address_scheme")
    if parts.username is not None or parts.password is not None:
        raise Wrong("address_user")
    if port == 0 or not parts.path.isascii() or not parts.query.isascii():
        raise Wrong("address_form")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Place(parts.scheme, _host(parts), port or PORTS[parts.scheme], path)


def _host(parts: SplitResult) -> str:
    try:
        host = (parts.hostname or "").encode("idna").decode("ascii").rstrip(".")
    except UnicodeError:
        raise Wrong("address_form") from None
    if not host:
        raise Wrong("address_form")
    return host


def addresses_of(host: str, port: int, seconds: float) -> list[str]:
    """The addresses of a host, each of them checked; Wrong if there is none or one is out of bounds.

    Whoever connects does so to one of these, and asks for no name again.
    """
    found = _resolved(host, port, seconds)
    if not all(permitted(ip_address(address)) for address in found):
        raise Wrong("address_refused")
    return found


def _resolved(host: str, port: int, seconds: float) -> list[str]:
    """The resolver knows no time limit."""
    try:
        rows = within(seconds, lambda: getaddrinfo(host, port, type=SOCK_STREAM))
    except TimeoutError:
        raise
    except (OSError, UnicodeError):
        rows = []
    if not rows:
        raise Wrong("address_unknown")
    return list(dict.fromkeys(str(row[4][0]) for row in rows))


def permitted(address: Address) -> bool:
    """Whether the console may connect to it: public, or in one of `ALERT_ALLOWED_NETWORKS`."""
    meant = _inner(address) or address
    if any(one in network for network in settings.ALERT_ALLOWED_NETWORKS for one in (address, meant)):
        return True
    if any(one in network for network in _NEVER for one in (address, meant)):
        return False
    return meant.is_global and not (meant.is_multicast or meant.is_reserved or meant.is_unspecified)


def _inner(address: Address) -> IPv4Address | None:
    """The IPv4 address that one of IPv6 stands for, if it does."""
    if isinstance(address, IPv4Address):
        return None
    if address.teredo:
        return address.teredo[1]
    if address.ipv4_mapped or address.sixtofour:
        return address.ipv4_mapped or address.sixtofour
    last = IPv4Address(int(address) & 0xFFFF_FFFF)
    embedded = address in _NAT64 or (address in _COMPATIBLE and int(address) > 1)
    return last if embedded or int(address) >> 32 & 0xFFFF_FFFF in _ISATAP else None
