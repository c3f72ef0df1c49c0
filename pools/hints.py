"""Hints to higher apps that a pool changed. They may be lost; the periodic tick finds the same out."""

from __future__ import annotations

import logging
from functools import partial

from celery import current_app
from django.db import transaction

logger = logging.getLogger(__name__)


def pool_changed(pool_id: int) -> None:
    """After commit: something in the pool may have become startable."""
    transaction.on_commit(partial(send, "jobs.tasks.queue_cycle", pool_id))


def send(task: str, *args: object) -> None:
    """Sends a hint by task name; a broker that is away is only noted."""
    try:
        current_app.send_task(task, args=args, ignore_result=True, retry=False)
    except (
        Exception
    ) as error:  # whatever the broker's client raises: the row is written, the tick will see it
        logger.warning("hint %s was not sent: %s", task, error)
