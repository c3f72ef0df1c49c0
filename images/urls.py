"""Addresses of the pages of images."""

from django.urls import path

from images import views

urlpatterns = [
    path("images/", views.page, name="images"),
]
