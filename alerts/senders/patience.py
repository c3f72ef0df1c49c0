"""Waiting no longer than one has time for, where what is waited for knows no limit itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Made = TypeVar("Made")


def within(seconds: float, make: Callable[[], Made]) -> Made:
    """What `make` makes or raises; TimeoutError if that takes longer. It then goes on by itself in a thread
    of its own, and what it makes is lost."""
    made: Future[Made] = Future()

    def run() -> None:
        try:
            made.set_result(make())
        except BaseException as error:
            made.set_exception(error)

    threading.Thread(target=run, name="alerts-within", daemon=True).start()
    return made.result(timeout=max(seconds, 0))
