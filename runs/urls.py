"""Addresses of pages' share of what runs."""

from django.urls import path

from jobs import converters  # noqa: F401  # <job:key>
from runs import download_views, views

urlpatterns = [
    path("jobs/<job:key>/workers/<int:rank>/log/", views.worker_log, name="worker-log"),
    path(
        "jobs/<job:key>/workers/<int:rank>/log/download/",
        download_views.worker_log_download,
        name="worker-log-download",
    ),
]
