"""Locks that end with their holder, and that can be looked at without being touched.

They are "open file description" locks: like flock they belong to the open file, are shared by
fork and vanish with the last copy of the descriptor. Unlike flock they can be tested without being
taken, so that looking never makes a starting supervisor believe that another one lives.
"""

from __future__ import annotations

import fcntl
import os
import struct

from engines.local.durable import raise_if_scarce

_FLOCK = "hhqqi0q"  # struct flock of 64-bit Linux: l_type, l_whence, l_start, l_len, l_pid


def _request(kind: int) -> bytes:
    return struct.pack(_FLOCK, kind, os.SEEK_SET, 0, 0, 0)


def open_lock(path: str) -> int:
    """The lock file, made if missing."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def try_lock(fd: int, *, shared: bool = False) -> bool:
    """Take the lock now, or say False; `shared` allows other shared holders."""
    try:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _request(fcntl.F_RDLCK if shared else fcntl.F_WRLCK))
    except (BlockingIOError, PermissionError):
        return False
    return True


def wait_lock(fd: int) -> None:
    """Take the lock, waiting for its holder. Only for sections of a few system calls."""
    fcntl.fcntl(fd, fcntl.F_OFD_SETLKW, _request(fcntl.F_WRLCK))


def is_held(path: str) -> bool:
    """Whether anybody holds the lock now. Takes nothing; what is missing or no lock file is not held."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise_if_scarce(error)
        return False
    try:
        answer = fcntl.fcntl(fd, fcntl.F_OFD_GETLK, _request(fcntl.F_WRLCK))
    finally:
        os.close(fd)
    return bool(struct.unpack(_FLOCK, answer)[0] != fcntl.F_UNLCK)
