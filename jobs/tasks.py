"""Celery tasks of the queue. Each is safe to run twice and bounded."""

from celery import shared_task

from jobs.scheduling import pools_with_waiting_jobs, queue_cycle, stops_settle


@shared_task(name="jobs.tasks.queue_cycle")
def queue_cycle_task(pool_id: int) -> None:
    queue_cycle(pool_id)


@shared_task(name="jobs.tasks.queue_tick")
def queue_tick() -> None:
    """Repairs whatever a lost hint left undone."""
    stops_settle()
    for pool_id in pools_with_waiting_jobs():
        queue_cycle(pool_id)
