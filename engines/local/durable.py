"""Writing files so that they are wholly there after a crash, or not at all."""

from __future__ import annotations

import json
import os
from typing import Any


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


def read_json(path: str) -> dict[str, Any] | None:
    """The document at `path`, or None if there is none. Symbolic links are not followed."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    with open(fd, "rb") as file:
        value = json.load(file)
    if not isinstance(value, dict):
        raise ValueError(f"not a JSON object: {path}")
    return value


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
