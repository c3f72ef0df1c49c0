"""Reading a Worker's log while its supervisor writes it, from any process that sees the files."""

from __future__ import annotations

import contextlib
import os
import stat

from engines.local import layout
from engines.local.output import ENTRY


def open_file(root: str, parts: tuple[str, ...]) -> int | None:
    """Open the plain file `root/part/…`, following no symbolic link below `root`; None if it is not there."""
    try:
        here = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            there = os.open(part, flags | (0 if last else os.O_DIRECTORY), dir_fd=here)
        except OSError:
            return None
        finally:
            os.close(here)
        here = there
    if not stat.S_ISREG(os.fstat(here).st_mode):
        os.close(here)
        return None
    return here


def read_log(root: str, parts: tuple[str, ...], offset: int, limit: int) -> tuple[bytes, int, int] | None:
    """`read_part` of the log of the Worker whose directory `parts` lead to; None if there is none."""
    fd = open_file(root, (*parts, layout.LOG))
    if fd is None:
        return None
    try:
        return read_part(fd, offset, limit)
    finally:
        os.close(fd)


def read_part(fd: int, offset: int, limit: int) -> tuple[bytes, int, int]:
    """(data, its offset, size of the file): at most `limit` bytes; a negative offset counts from the end."""
    size = os.fstat(fd).st_size
    start = max(0, size + offset) if offset < 0 else min(offset, size)
    os.lseek(fd, start, os.SEEK_SET)
    with open(fd, "rb", closefd=False) as file:
        return file.read(min(limit, size - start)), start, size


def read_cut(root: str, parts: tuple[str, ...]) -> int:
    """How many bytes of the log were thrown away; `parts` lead to the Worker's directory."""
    fd = open_file(root, (*parts, layout.CUT))
    if fd is None:
        return 0
    with open(fd, "rb") as file, contextlib.suppress(ValueError):
        return int(file.read(32))
    return 0


def read_times(root: str, parts: tuple[str, ...]) -> list[tuple[int, float]]:
    """(offset, time) pairs: when output from that byte on came; about one a second of output."""
    fd = open_file(root, (*parts, layout.INDEX))
    if fd is None:
        return []
    with open(fd, "rb") as file:
        data = file.read()
    whole = len(data) - len(data) % ENTRY.size
    return [(int(offset), float(when)) for offset, when in ENTRY.iter_unpack(data[:whole])]
