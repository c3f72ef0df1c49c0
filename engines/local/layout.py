"""Where things lie: `root/<job>/<attempt>/<rank>/`, and the names of the files in there.

<attempt>/launch.json   what to run, without private values
<attempt>/release       the checks are passed, the commands may run
<attempt>/keep          the layers of Workers whose command ran stay when they end, until it is gone
<attempt>/stop          the tombstone: {"at", "grace_s"}; with it nothing starts any more
<rank>/lock             held exactly while the Worker's supervisor lives
<rank>/step             the deploy steps that were begun, each with when
<rank>/check.json       what the check before the command said: {"began", "ended", "outcome", "text"}
<rank>/started          synced to disk before the command runs: {"at", "steps"}
<rank>/log, log.index   the output, and (offset, time) pairs
<rank>/cut              how many bytes of output were thrown away
<rank>/busy             empty; changed last when the Worker's processes were seen busy
<rank>/exit.json        how it ended; written when no process is left, and no layer but one that is kept
<rank>/scratch.*        the throw-away layer; of the command `scratch.<8 digits>`

Directly below the root lie also `protection.json` (what the last trial of the sandbox gave), `.links` (the
register of mount links) and `.forgotten-*` (being deleted).
All names are directories and plain files of the engine's own: a symbolic link is never followed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat

from engines.local.durable import raise_if_scarce

LAUNCH = "launch.json"
STOP = "stop"
RELEASE = "release"
KEEP = "keep"
CHECK = "check.json"
LOCK = "lock"
STEP = "step"
STARTED = "started"
LOG = "log"
INDEX = "log.index"
CUT = "cut"
BUSY = "busy"
EXIT = "exit.json"
DIARY = "supervisor.log"
PROTECTION = "protection.json"
SCRATCH = "scratch."

_JOB = re.compile(r"(?:jo|pc)-[a-z0-9]{16}")  # of a job, or of a path check
_RANK = re.compile(r"0|[1-9][0-9]{0,4}")


def attempt_dir(root: str, job: str, attempt: int) -> str:
    """The attempt's directory; ValueError for anything but a proper name, so that no path can hide in it."""
    if not _JOB.fullmatch(job) or not isinstance(attempt, int) or not 0 < attempt < 10**6:
        raise ValueError(f"not an attempt: {job!r}/{attempt!r}")
    return os.path.join(root, job, str(attempt))


def rank_dir(attempt_path: str, rank: int) -> str:
    """The Worker's directory; ValueError for anything but a rank."""
    if not isinstance(rank, int) or not 0 <= rank < 10**5:
        raise ValueError(f"not a rank: {rank!r}")
    return os.path.join(attempt_path, str(rank))


def make_private_dirs(root: str, path: str) -> None:
    """`path` below `root` with all its parents, each 0700; OSError if something else is in its place."""
    os.makedirs(root, 0o700, exist_ok=True)
    for place in _levels(root, path):
        with contextlib.suppress(FileExistsError):
            os.mkdir(place, 0o700)
    if obstacle(root, path):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)


def obstacle(root: str, path: str) -> str:
    """The outermost level of `path` below `root` that is no directory itself; "" if none, or not there."""
    for place in _levels(root, path):
        try:
            mode = os.lstat(place).st_mode
        except FileNotFoundError:
            return ""
        if not stat.S_ISDIR(mode):
            return place
    return ""


def clear(root: str, path: str) -> bool:
    """Remove what stands in the way of `path`, not what it leads to; whether there was something."""
    found = obstacle(root, path)
    if found:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(found)
    return bool(found)


def rank_paths(attempt_path: str) -> list[str]:
    """The Workers' directories in rank order; none if the attempt's cannot be read."""
    try:
        names = os.listdir(attempt_path)
    except OSError as error:
        raise_if_scarce(error)
        return []
    ranks = sorted(int(name) for name in names if _RANK.fullmatch(name))
    return [os.path.join(attempt_path, str(rank)) for rank in ranks]


def _levels(root: str, path: str) -> list[str]:
    parts = os.path.relpath(path, root).split(os.sep)
    return [os.path.join(root, *parts[: depth + 1]) for depth in range(len(parts))]
