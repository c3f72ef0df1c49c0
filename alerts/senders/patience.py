"""Waiting no longer than one has time for, where what is waited for knows no limit itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar

Made = TypeVar("Made")


def within(seconds: float, make: Callable[[], Made]) -> Made:
    """What `make` makes, which must not raise; TimeoutError if that takes longer. It then goes on by itself
    in its thread, and what it makes is lost."""
    made: SimpleQueue[Made] = SimpleQueue()
    threading.Thread(target=lambda: made.put(make()), name="alerts-within", daemon=True).start()
    try:
        return made.get(timeout=max(seconds, 0))
    except Empty:
        raise TimeoutError from None
