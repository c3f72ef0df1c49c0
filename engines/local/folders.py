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


def open_folder(path: str) -> int:
    """The folder at an absolute path, opened step by step: no component may be a symbolic link.

    Part of the path may lie on a volume, where a job can put any link at any time. Whoever uses the
    descriptor, not the path, can be led nowhere else.
    """
    here = os.open("/", _FLAGS)
    for part in path.split("/"):
        if not part:
            continue
        try:
            there = os.open(part, _FLAGS, dir_fd=here)
        except OSError as error:
            raise_if_scarce(error)
            raise (LinkAbove if _is_link(part, here) else Missing)(path) from error
        finally:
            os.close(here)
        here = there
    return here


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode)
    except OSError:
        return False
