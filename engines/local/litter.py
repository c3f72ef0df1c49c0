"""What a sandbox program leaves in places of its own, apart from the Worker's layer."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterable

from engines.local import scratch


def sweep(patterns: Iterable[str], pids: Iterable[int]) -> None:
    """Remove what matches the patterns with one of the process ids in place of `{pid}`, if it is ours."""
    pids = list(pids)
    for pattern in patterns:
        for pid in pids:
            for path in glob.glob(pattern.format(pid=pid)):
                with contextlib.suppress(OSError):
                    _remove(path)


def _remove(path: str) -> None:
    if os.lstat(path).st_uid != os.getuid():
        return
    if os.path.isdir(path) and not os.path.islink(path):
        scratch.remove(path)
    else:
        os.unlink(path)
