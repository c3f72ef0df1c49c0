"""Opening the folder behind a mount, so that what is shown is what was checked."""

from __future__ import annotations

import os
import stat

from engines.local.durable import raise_if_scarce

_FLAGS = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class LinkAbove(Exception):
    """A component of the path is a symbolic link."""


class Missing(Exception):
    """There is no such folder, or none that this user may enter."""


class NoFolder(Exception):
    """What is there is no folder, but a file or the like."""


def open_folder(path: str) -> int:
    """The folder at an absolute path, opened step by step: no component may be a symbolic link.

    Part of the path may lie on a volume, where a job can put any link at any time. Whoever uses the
    descriptor, not the path, can be led nowhere else.
    """
    here = os.open("/", _FLAGS)
    parts = [part for part in path.split("/") if part]
    for number, part in enumerate(parts, 1):
        try:
            there = os.open(part, _FLAGS, dir_fd=here)
        except OSError as error:
            raise_if_scarce(error)
            raise _why(part, here, last=number == len(parts))(path) from error
        finally:
            os.close(here)
        here = there
    return here


def _why(name: str, folder: int, *, last: bool) -> type[Exception]:
    """What keeps `name` in `folder` from being opened as a folder."""
    try:
        mode = os.lstat(name, dir_fd=folder).st_mode
    except OSError:
        return Missing
    if stat.S_ISLNK(mode):
        return LinkAbove
    return Missing if stat.S_ISDIR(mode) or not last else NoFolder
