"""Addresses of the pages of storage."""

from django.urls import path

from storage import views

urlpatterns = [
    path("storage/", views.page, name="storage"),
]
