"""Where things lie: `root/<job>/<attempt>/<rank>/`, and the names of the files in there.

<attempt>/launch.json   what to run, without private values
<attempt>/stop          the tombstone: {"at", "grace_s"}; with it nothing starts any more
<rank>/lock             held exactly while the Worker's supervisor lives
<rank>/step             the deploy step while the command was not run yet
<rank>/started          synced to disk before the command runs: {"at"}
<rank>/log, log.index   the output, and (offset, time) pairs
<rank>/cut              how many bytes of output were thrown away
<rank>/exit.json        how it ended; written when no process and no scratch layer is left
<rank>/scratch.*        the throw-away layer
"""

from __future__ import annotations

import os
import re

LAUNCH = "launch.json"
STOP = "stop"
LOCK = "lock"
STEP = "step"
STARTED = "started"
LOG = "log"
INDEX = "log.index"
CUT = "cut"
EXIT = "exit.json"
DIARY = "supervisor.log"
SCRATCH = "scratch."

_JOB = re.compile(r"jo-[a-z0-9]{16}")


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
    """`path` below `root` with all its parents, each 0700."""
    os.makedirs(root, 0o700, exist_ok=True)
    here = root
    for part in os.path.relpath(path, root).split(os.sep):
        here = os.path.join(here, part)
        try:
            os.mkdir(here, 0o700)
        except FileExistsError:
            continue
