"""Writing a Worker's log: the bytes as they came, up to a limit, and when they came."""

from __future__ import annotations

import os
import struct
import time

from engines.local import layout
from engines.local.durable import overwrite, write_all

ENTRY = struct.Struct("<Qd")  # log.index: offset of the first byte, seconds since the epoch
_INDEX_EVERY = 1.0
_CHUNK = 2**16


class LogWriter:
    """Owns `log`, `log.index` and `cut` of one Worker. A full file system counts as the limit."""

    def __init__(self, rank_path: str, limit: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        self._log = os.open(os.path.join(rank_path, layout.LOG), flags, 0o600)
        self._index = os.open(os.path.join(rank_path, layout.INDEX), flags, 0o600)
        self._cut_path = os.path.join(rank_path, layout.CUT)
        self._room = limit
        self._indexed = 0.0
        self._cut_written = 0.0
        self.size = 0
        self.cut_bytes = 0

    def add(self, data: bytes) -> None:
        """Append what fits and count the rest."""
        kept = data[: self._room]
        if kept:
            self._mark_time()
            try:
                write_all(self._log, kept)
            except OSError:  # no space: a shorter log, but the Worker goes on
                kept = b""
        self.size = os.fstat(self._log).st_size
        self._room = max(0, self._room - len(kept))
        if len(kept) < len(data):
            self.cut_bytes += len(data) - len(kept)
            self._note_cut()

    def pump(self, fd: int, seconds: float) -> bool:
        """Move what a non-blocking pipe holds into the log, for so long at most; False at its end."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                data = os.read(fd, _CHUNK)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.add(data)
        return True

    def close(self) -> None:
        """Write the last count and close the files."""
        if self.cut_bytes:
            self._cut_written = 0.0
            self._note_cut()
        os.close(self._log)
        os.close(self._index)

    def _mark_time(self) -> None:
        now = time.time()
        if not 0 <= now - self._indexed < _INDEX_EVERY:
            self._indexed = now
            try:
                write_all(self._index, ENTRY.pack(self.size, now))
            except OSError:
                return

    def _note_cut(self) -> None:
        now = time.monotonic()
        if now - self._cut_written < _INDEX_EVERY and self._cut_written:
            return
        self._cut_written = now
        try:
            overwrite(self._cut_path, b"%20d" % self.cut_bytes)
        except OSError:
            return
