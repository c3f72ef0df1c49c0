"""Addresses of the pages of jobs."""

from django.urls import path

from jobs import converters  # noqa: F401  # <job:key>
from jobs.views import (
    alerts,
    create,
    deliveries,
    detail,
    instead,
    listing,
    pool_parts,
    priority,
    progress,
    rerun,
    templates,
    trials,
)

urlpatterns = [
    path("jobs/", listing.job_list, name="jobs"),
    path("jobs/states/", listing.states, name="job-states"),
    path("jobs/estimate/", create.estimate, name="job-estimate"),
    path("jobs/snippets/", create.snippets, name="job-snippets"),
    path("jobs/variables/", create.variables, name="job-variables"),
    path("jobs/alert-channels/", alerts.channels, name="job-alert-channels"),
    path("jobs/trial/", trials.trial, name="job-trial"),
    path("jobs/template/", templates.command_template, name="job-command-template"),
    path("jobs/<job:key>/", detail.job_page, name="job"),
    path("jobs/<job:key>/live/", detail.job_live, name="job-live"),
    path("jobs/<job:key>/progress/", progress.job_progress, name="job-progress"),
    path("jobs/<job:key>/instead/", instead.job_instead, name="job-instead"),
    path("jobs/<job:key>/deliveries/", deliveries.job_deliveries, name="job-deliveries"),
    path("jobs/<job:key>/alerts/", alerts.job_alerts, name="job-alerts"),
    path("jobs/<job:key>/rerun/", rerun.rerun, name="job-rerun"),
    path("jobs/<job:key>/modify/", rerun.modify, name="job-modify"),
    path("jobs/<job:key>/stop/", detail.job_stop_view, name="job-stop"),
    path("jobs/<job:key>/priority/", priority.job_priority, name="job-priority"),
    path("jobs/pools/<int:pk>/occupancy/", pool_parts.occupancy, name="pool-occupancy"),
    path("jobs/pools/<int:pk>/queue/", pool_parts.queue, name="pool-queue"),
    path("jobs/pools/<int:pk>/nodes/", pool_parts.nodes, name="pool-nodes"),
]
