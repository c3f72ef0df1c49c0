"""Reading what a Worker has left in its throw-away layer, when that is kept.

A job has made all of it: a name may be any bytes, a link may lead anywhere, a folder may hold a million
entries and lie deeper than a path may be long. So every step down opens one name in the folder before it and
follows no link; nothing but plain files is ever opened to be read.

What was there before the command ran is the engine's own (mount points, a small /etc): its change time, which
nobody can set, is before that of the file that tells of the command's start. It is not shown.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from engines.base import EngineError, EntryKind, KeptBytes, KeptEntry, KeptFolder, NotKept
from engines.local import layout, scratch

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_DOWN = _FLAGS | os.O_DIRECTORY
_MOST_NAMES = 100_000  # of a folder that are looked at
_NO_WAY = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG)
_CLOSED = (errno.EACCES, errno.EPERM, errno.ENXIO)


class Place(NamedTuple):
    """A folder or plain file of a layer, open, and when the command began: nanoseconds of the file system."""

    fd: int
    since: int


@contextlib.contextmanager
def opened(root: str, parts: tuple[str, ...], path: bytes) -> Iterator[Place]:
    """What lies at `path` in the layer of the Worker whose directory `parts` lead to.

    NotKept if there is nothing that can be shown; EngineError if it cannot be read just now.
    """
    names = [name for name in path.split(b"/") if name]
    if b"\0" in path or any(name in (b".", b"..") for name in names):
        raise NotKept(path)
    fds: list[int] = []
    try:
        fds.append(os.open(root, _DOWN))
        for part in parts:
            fds.append(_step(fds, os.fsencode(part)))
        since = _since(fds[-1])
        for name in (_layer(fds[-1]), *names):
            fds.append(_step(fds, name))
        yield Place(fds[-1], since)
    except OSError as error:
        if error.errno in (*_NO_WAY, *_CLOSED):
            raise NotKept(path) from error
        raise EngineError(f"cannot read what {'/'.join(parts)} kept: {error.strerror}") from error
    finally:
        for fd in fds:
            os.close(fd)


def _step(fds: list[int], name: bytes) -> int:
    """The folder or plain file `name` of the folder that was opened last, which is closed."""
    mode = os.lstat(name, dir_fd=fds[-1]).st_mode
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise NotKept(name)
    fd = os.open(name, _FLAGS, dir_fd=fds[-1])
    os.close(fds.pop())
    return fd


def _layer(worker: int) -> bytes:
    """The name of the command's layer."""
    for name in os.listdir(worker):
        if scratch.is_of_command(name):
            return os.fsencode(name)
    raise NotKept("no layer")


def _since(worker: int) -> int:
    return os.lstat(layout.STARTED, dir_fd=worker).st_ctime_ns


def read_folder(place: Place, first: int, limit: int) -> KeptFolder:
    """The folder's entries from number `first` on, `limit` of them at most; NotKept if it is none."""
    if not stat.S_ISDIR(os.fstat(place.fd).st_mode):
        raise NotKept("no folder")
    found: list[tuple[bool, bytes, os.stat_result]] = []
    more = False
    with os.scandir(place.fd) as entries:
        for seen, entry in enumerate(entries):
            if seen == _MOST_NAMES:
                more = True
                break
            told = entry.stat(follow_symlinks=False)
            if _is_written(place.fd, entry.name, told, place.since):
                found.append((not stat.S_ISDIR(told.st_mode), os.fsencode(entry.name), told))
    found.sort(key=lambda one: one[:2])
    shown = found[first : first + limit]
    return KeptFolder(tuple(_entry(place.fd, name, told) for _, name, told in shown), len(found), more)


def _is_written(folder: int, name: str, told: os.stat_result, since: int) -> bool:
    """Whether it, or something below it, was made or changed since the command began. A folder that was not
    is the engine's, and so is all below it down to what is newer."""
    if told.st_ctime_ns >= since:
        return True
    if not stat.S_ISDIR(told.st_mode):
        return False
    try:
        inside = os.open(name, _DOWN, dir_fd=folder)
    except OSError:
        return False
    try:
        with os.scandir(inside) as entries:
            return any(_is_written(inside, e.name, e.stat(follow_symlinks=False), since) for e in entries)
    finally:
        os.close(inside)


def _entry(folder: int, name: bytes, told: os.stat_result) -> KeptEntry:
    kind = EntryKind.OTHER
    target = b""
    if stat.S_ISDIR(told.st_mode):
        kind = EntryKind.FOLDER
    elif stat.S_ISREG(told.st_mode):
        kind = EntryKind.FILE
    elif stat.S_ISLNK(told.st_mode):
        kind = EntryKind.LINK
        target = os.readlink(name, dir_fd=folder)
    size = told.st_size if kind is EntryKind.FILE else 0
    return KeptEntry(name, kind, size, told.st_mtime, target)


def read_bytes(place: Place, offset: int, limit: int) -> KeptBytes:
    """At most `limit` bytes of the plain file from byte `offset` on; NotKept if it is none."""
    told = os.fstat(place.fd)
    if not stat.S_ISREG(told.st_mode):
        raise NotKept("no plain file")
    start = min(offset, told.st_size)
    data = os.pread(place.fd, min(limit, told.st_size - start), start)
    return KeptBytes(data, start, told.st_size, told.st_mtime)
