"""Addresses of the pages of jobs."""

from django.urls import path

from jobs import converters  # noqa: F401  # <job:key>
from jobs.views import create, detail, listing

urlpatterns = [
    path("jobs/", listing.job_list, name="jobs"),
    path("jobs/states/", listing.states, name="job-states"),
    path("jobs/create/", create.create, name="job-create"),
    path("jobs/estimate/", create.estimate, name="job-estimate"),
    path("jobs/<job:key>/", detail.job_page, name="job"),
    path("jobs/<job:key>/live/", detail.job_live, name="job-live"),
    path("jobs/<job:key>/stop/", detail.job_stop_view, name="job-stop"),
]
