"""The Django project: settings, addresses, sign-in, home, health, API root."""

from console.celery import app as celery_app

__all__ = ["celery_app"]
