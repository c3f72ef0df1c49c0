"""Addresses of pages' share of what runs."""

from django.urls import path

from jobs import converters as _job_key  # noqa: F401  # <job:key>
from runs import cause_views, download_views, kept_views, stack_views, views
from runs import converters as _path_check_key  # noqa: F401  # <pathcheck:key>
from runs.path_check import views as path_check

urlpatterns = [
    path("jobs/<job:key>/workers/<int:rank>/log/", views.worker_log, name="worker-log"),
    path(
        "jobs/<job:key>/workers/<int:rank>/log/download/",
        download_views.worker_log_download,
        name="worker-log-download",
    ),
    path("jobs/<job:key>/workers/<int:rank>/files/", kept_views.worker_files, name="worker-files"),
    path("jobs/<job:key>/workers/<int:rank>/files/view/", kept_views.worker_file, name="worker-file"),
    path(
        "jobs/<job:key>/workers/<int:rank>/files/download/",
        kept_views.worker_file_download,
        name="worker-file-download",
    ),
    path("jobs/<job:key>/remove-files/", kept_views.files_remove_view, name="job-remove-files"),
    path("jobs/<job:key>/causes/", cause_views.causes, name="job-causes"),
    path("jobs/<job:key>/stacks/", stack_views.job_stacks, name="job-stacks"),
    path("jobs/path-check/", path_check.path_check_start, name="path-check-start"),
    path("jobs/path-check/<pathcheck:key>/", path_check.path_check, name="path-check"),
]
