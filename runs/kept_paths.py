"""What a Worker called its files and when it wrote them, both of which may be anything: in addresses, in
answers and on pages. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import quote, unquote_plus, unquote_to_bytes

MOST_PATH_BYTES = 1000  # three signs each at most, so that no address is longer than servers take


def path_asked(query: str) -> bytes:
    """`path` of an address's query, byte by byte: what reads it as text would lose what is none."""
    found = b""
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if unquote_plus(name) == "path":
            found = unquote_to_bytes(value.replace("+", " ").encode("latin-1", "replace"))
    return found


def path_quoted(path: bytes) -> str:
    """For an address, as `path_asked` reads it."""
    return quote(path, safe="/")


def path_below(folder: bytes, name: bytes) -> bytes:
    return b"/".join([*path_parts(folder), name])


def path_parts(path: bytes) -> list[bytes]:
    return [name for name in path.split(b"/") if name]


def readable(text: bytes) -> str:
    """For eyes: what is no text, or would not be seen, is a replacement sign."""
    plain = text.decode("utf-8", "replace").replace("\r\n", "\n")
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "�" for sign in plain)


def readable_name(name: bytes) -> str:
    """The same on one line."""
    return readable(name).replace("\n", "�").replace("\t", "�")


def time_told(seconds: float) -> datetime | None:
    """A time since the epoch; None for one that no calendar has."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
