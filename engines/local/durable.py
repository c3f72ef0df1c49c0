"""Files that are wholly there after a crash, or not at all; and reading what may not be such a file."""

from __future__ import annotations

import errno
import json
import os
import stat
from typing import Any

_SMALL = 2**16
_SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class Unreadable(Exception):
    """What lies there is no plain file, or not for us to read, or not what it should be."""


def write_synced(path: str, data: bytes) -> None:
    """Replace `path` by `data`: readers see the old or the new file; on disk when this returns."""
    draft = f"{path}.{os.urandom(6).hex()}.tmp"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        write_all(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(draft, path)
    sync_dir(os.path.dirname(path))


def write_json(path: str, value: object) -> None:
    """`write_synced` of a JSON document. Lone surrogates stay as they are, escaped."""
    write_synced(path, json.dumps(value).encode("ascii"))


def overwrite(path: str, data: bytes) -> None:
    """Replace what `path` holds, neither whole nor synced. A symbolic link is not followed."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        write_all(fd, data)
    finally:
        os.close(fd)


def read_json(path: str, limit: int = _SMALL) -> dict[str, Any] | None:
    """The document at `path`, or None if there is none; Unreadable if it is not a JSON object."""
    data = read_file(path, limit)
    if data is None:
        return None
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unreadable(path) from error
    if not isinstance(value, dict):
        raise Unreadable(path)
    return value


def read_file(path: str, limit: int = _SMALL) -> bytes | None:
    """At most `limit` bytes of a plain file, or None if nothing is there. A symbolic link is not followed.

    Unreadable for everything else; OSError only if this process lacks what it takes to open any file.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise_if_scarce(error)
        raise Unreadable(path) from error
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise Unreadable(path)
        return os.read(fd, min(limit, found.st_size))
    except OSError as error:
        raise_if_scarce(error)
        raise Unreadable(path) from error
    finally:
        os.close(fd)


def raise_if_scarce(error: OSError) -> None:
    """Raise it again if it tells nothing of the file: descriptors or memory ran out."""
    if error.errno in _SCARCE:
        raise error


def write_all(fd: int, data: bytes) -> None:
    """Write every byte; a short write is continued."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def sync_dir(path: str) -> None:
    """Put the names in a directory on disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
