"""Mount paths as symbolic links, shared by all jobs that want the same place to lead to the same source.

For every link that the engine made there is a record in the register: a file that its users keep
locked (shared). A link whose record nobody locks is a left-over; the next one who comes may take it away.
Links and directories that the engine did not make are never changed.
"""

from __future__ import annotations

import hashlib
import json
import os

from engines.local.lock import open_lock, try_lock, wait_lock
from engines.local.plan import Refused


def hold(register: str, source: str, target: str) -> list[int]:
    """Make `target` lead to `source`; the descriptors returned keep it so."""
    with _Register(register):
        fd = open_lock(_record_path(register, target))
        try:
            if try_lock(fd):  # nobody uses it: what was made for former users goes first
                _unmake(fd, target)
                made = _make(fd, source, target)
            else:
                made = os.path.realpath(target) == source
            if not made and os.path.realpath(target) != source:
                raise _denied(target, "something else is there")
            try_lock(fd, shared=True)
        except BaseException:
            os.close(fd)
            raise
        return [fd]


def release(register: str, held: tuple[int, ...]) -> None:
    """Let go; who was the last one removes the link and the parents that were made for it."""
    if not held:
        return
    with _Register(register):
        for fd in held:
            if try_lock(fd):
                _unmake(fd, _read(fd).get("target", ""))
            os.close(fd)


class _Register:
    """One at a time in the register; held for a few system calls."""

    def __init__(self, path: str) -> None:
        os.makedirs(path, 0o700, exist_ok=True)
        self._path = os.path.join(path, "lock")
        self._fd = -1

    def __enter__(self) -> None:
        self._fd = open_lock(self._path)
        wait_lock(self._fd)

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def _record_path(register: str, target: str) -> str:
    digest = hashlib.sha256(target.encode("utf-8", "surrogateescape")).hexdigest()
    return os.path.join(register, digest)


def _read(fd: int) -> dict[str, str]:
    data = os.pread(fd, 2**20, 0)
    return dict(json.loads(data)) if data else {}


def _make(fd: int, source: str, target: str) -> bool:
    """Make the link; False if something is there already, which may be the right thing."""
    if os.path.lexists(target):
        return False
    if not _is_real(os.path.dirname(target)):
        raise _denied(target, "a symbolic link leads there")
    made = _missing_parent(target)
    # Written first: after a crash the link is known as ours.
    os.pwrite(fd, json.dumps({"source": source, "target": target, "made": made}).encode(), 0)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.symlink(source, target)
    except OSError as error:
        _unmake(fd, target)
        raise _denied(target, "this user cannot make the link") from error
    return True


def _is_real(place: str) -> bool:
    """Whether nothing above is a symbolic link: one of another mount could lead into a volume, and on."""
    return os.path.realpath(place) == place


def _denied(target: str, detail: str) -> Refused:
    return Refused("mount_denied", path=target, detail=detail)


def _unmake(fd: int, target: str) -> None:
    record = _read(fd)
    if not record:
        return
    if os.path.islink(target) and os.readlink(target) == record["source"]:
        os.unlink(target)
    place = os.path.dirname(target)
    while record["made"] and place.startswith(record["made"]):
        try:
            os.rmdir(place)
        except OSError:
            break
        place = os.path.dirname(place)
    os.ftruncate(fd, 0)


def _missing_parent(target: str) -> str:
    """The outermost directory above `target` that does not exist, or nothing."""
    missing = ""
    place = os.path.dirname(target)
    while not os.path.lexists(place):
        missing, place = place, os.path.dirname(place)
    return missing
