"""Addresses of the pages of pools."""

from django.urls import path

from pools import views

urlpatterns = [
    path("pools/", views.page, name="pools"),
    path("pools/<int:pk>/", views.pool_page, name="pool"),
    path("pools/<int:pk>/numbers/", views.pool_numbers, name="pool-numbers"),
]
