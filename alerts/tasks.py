"""Celery tasks of alerts. Each is safe to run twice, by several at once, and bounded."""

from celery import shared_task

from alerts import delivering


@shared_task(name="alerts.tasks.slow_deliver")
def slow_deliver() -> None:
    delivering.deliveries_send()
