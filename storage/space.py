"""How much room is left under a volume. A dead network file system answers never, so nobody waits for one:
each folder is asked in a thread of its own, at most one at a time, and a page gets what is known by then."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Condition, Thread

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Space:
    """Of the file system beneath a folder, in bytes. `free` is what jobs may still write; folders of one file
    system have the same `device`."""

    used: int
    free: int
    device: int = 0

    @property
    def used_share(self) -> int:
        """In percent of what can be used at all."""
        usable = self.used + self.free
        return round(100 * self.used / usable) if usable else 0


def space_ask(folder: str) -> Space | None:
    """None where there is no such folder. May hang for as long as the file system does."""
    try:
        found, device = os.statvfs(folder), os.stat(folder).st_dev
    except OSError:
        return None
    size = found.f_frsize
    return Space(
        used=size * (found.f_blocks - found.f_bfree),
        free=size * found.f_bavail,
        device=device,
    )


class SpaceBook:
    """Remembers answers for `keep_s`, and asks at most `most_asking` folders at the same time."""

    def __init__(
        self,
        ask: Callable[[str], Space | None] = space_ask,
        *,
        keep_s: float = 60.0,
        wait_s: float = 0.3,
        most_asking: int = 32,
    ) -> None:
        self._ask = ask
        self._keep_s, self._wait_s, self._most_asking = keep_s, wait_s, most_asking
        self._known: dict[str, tuple[float, Space | None]] = {}
        self._asking: set[str] = set()
        self._news = Condition()

    def read(self, folders: Iterable[str]) -> dict[str, Space | None]:
        """What is known of each folder after at most `wait_s`; None where nothing is."""
        wanted = set(folders)
        with self._news:
            self._ask_for({folder for folder in wanted if self._stale(folder)})
            self._news.wait_for(lambda: not wanted & self._asking, timeout=self._wait_s)
            return {folder: self._known.get(folder, (0.0, None))[1] for folder in wanted}

    def _stale(self, folder: str) -> bool:
        at, _space = self._known.get(folder, (float("-inf"), None))
        return time.monotonic() - at > self._keep_s

    def _ask_for(self, folders: set[str]) -> None:
        """Those beyond the limit are left for the next reader. The condition is held."""
        for folder in sorted(folders - self._asking):
            if len(self._asking) >= self._most_asking:
                return
            self._asking.add(folder)
            Thread(target=self._learn, args=(folder,), name="space", daemon=True).start()

    def _learn(self, folder: str) -> None:
        space = None
        try:
            space = self._ask(folder)
        except Exception:  # whatever went wrong, the folder can be asked again
            logger.exception("asking for the space beneath a folder failed")
        with self._news:
            self._known[folder] = (time.monotonic(), space)
            self._asking.discard(folder)
            self._news.notify_all()


_book = SpaceBook()


def space_read(folders: Iterable[str]) -> dict[str, Space | None]:
    """Used and free room beneath each folder; None where that is not known (yet). Never takes long."""
    return _book.read(folders)
