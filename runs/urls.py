"""Addresses of pages' share of what runs."""

from django.urls import path

from runs import views

urlpatterns = [
    path("jobs/<str:key>/workers/<int:rank>/log/", views.worker_log, name="worker-log"),
]
