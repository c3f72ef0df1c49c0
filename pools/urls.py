"""Addresses of the pages of pools."""

from django.urls import path

from pools import views

urlpatterns = [
    path("pools/", views.page, name="pools"),
]
