"""Addresses of the pages of jobs."""

from django.urls import path

from jobs.views import create, detail, listing

urlpatterns = [
    path("jobs/", listing.job_list, name="jobs"),
    path("jobs/states/", listing.states, name="job-states"),
    path("jobs/create/", create.create, name="job-create"),
    path("jobs/estimate/", create.estimate, name="job-estimate"),
    path("jobs/<str:key>/", detail.job_page, name="job"),
    path("jobs/<str:key>/live/", detail.job_live, name="job-live"),
    path("jobs/<str:key>/stop/", detail.job_stop_view, name="job-stop"),
]
