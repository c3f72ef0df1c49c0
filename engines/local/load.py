"""Whether a Worker computes: when its processes were last busy, told by the time of a file.

Busy is to use at least `BUSY` of one core over some seconds. What a GPU does is not seen; where there are
real ones nothing is told, as a Worker may wait long for its own while the processor has nothing to do.
"""

from __future__ import annotations

import contextlib
import glob
import os
import stat

from engines.local import durable, layout, tree

BUSY = 0.05
EVERY_S = 5.0
_GPUS = ("/dev/nvidia[0-9]*", "/dev/kfd")


class LoadMeter:
    """Looks every few seconds at the tree below `ancestor`."""

    def __init__(self, rank_path: str, ancestor: int, gpus: int) -> None:
        self._path = os.path.join(rank_path, layout.BUSY)
        self._ancestor = ancestor
        self._tells = not (gpus and any(glob.glob(pattern) for pattern in _GPUS))
        self._before: tuple[float, float] | None = None  # clock, processor time

    def check(self, clock: float) -> None:
        """Measure if it is time to; the first measure counts as busy. Never raises OSError."""
        if not self._tells or (self._before and clock < self._before[0] + EVERY_S):
            return
        try:
            used = tree.cpu_seconds(self._ancestor)
        except OSError:  # no descriptors are left: the next time will do
            return
        if self._before is None or used - self._before[1] >= BUSY * (clock - self._before[0]):
            self._tell()
        self._before = clock, used

    def _tell(self) -> None:
        """Nobody relies on it being told: a full disk only makes a Worker look idle for longer."""
        try:
            durable.overwrite(self._path, b"")
        except OSError:
            self._tells = False
            with contextlib.suppress(OSError):  # it may be that there is none
                os.unlink(self._path)


def busy_at(rank_path: str) -> float | None:
    """When the Worker was last seen busy; None if nobody tells."""
    try:
        seen = os.lstat(os.path.join(rank_path, layout.BUSY))
    except OSError:
        return None
    return seen.st_mtime if stat.S_ISREG(seen.st_mode) else None
