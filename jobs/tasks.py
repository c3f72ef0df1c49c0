"""Celery tasks of the queue. Each is safe to run twice and bounded."""

import logging

from celery import shared_task

from jobs import faults, outbox, overdue, scheduling

logger = logging.getLogger(__name__)


@shared_task(name="jobs.tasks.queue_cycle")
def queue_cycle(pool_id: int) -> None:
    faults.faults_settle(pool_id)
    scheduling.queue_cycle(pool_id)


@shared_task(name="jobs.tasks.queue_tick")
def queue_tick() -> None:
    scheduling.queue_tick()


@shared_task(name="jobs.tasks.notices_tick")
def notices_tick() -> None:
    for tell in (outbox.events_tell, overdue.rules_look):
        try:
            tell()
        except Exception:  # neither must go without because of the other
            logger.exception("%s failed", tell.__name__)
