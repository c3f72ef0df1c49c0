"""Addresses of pages' share of what runs."""

from django.urls import path

from jobs import converters  # noqa: F401  # <job:key>
from runs import views

urlpatterns = [
    path("jobs/<job:key>/workers/<int:rank>/log/", views.worker_log, name="worker-log"),
]
