"""Hints to higher apps that a pool changed. They may be lost; the periodic tick finds the same out."""

from __future__ import annotations

import logging
import time
from functools import partial

from celery import current_app
from django.db import transaction

logger = logging.getLogger(__name__)


def pool_changed(pool_id: int) -> None:
    """After commit: something in the pool may have become startable."""
    transaction.on_commit(partial(send, "jobs.tasks.queue_cycle", pool_id))


class Broker:
    """Sends hints, and after a failure sends none for a while: a caller waits for a lost broker once."""

    def __init__(self, pause_s: float) -> None:
        self.pause_s = pause_s
        self.away_until = 0.0

    def send(self, task: str, args: tuple[object, ...]) -> None:
        if time.monotonic() < self.away_until:
            return
        try:
            current_app.send_task(task, args=args, ignore_result=True, retry=False)
        except Exception as error:  # whatever its client raises: the row is written, the tick will see it
            self.away_until = time.monotonic() + self.pause_s
            logger.warning("hint %s was not sent: %s", task, error)


_broker = Broker(pause_s=5.0)


def send(task: str, *args: object) -> None:
    """Sends a hint by task name; a broker that is away is only noted."""
    _broker.send(task, args)
