"""Addresses of a person's own pages."""

from django.urls import path

from teams import views

urlpatterns = [
    path("settings/", views.settings_page, name="settings"),
    path("settings/preferences/", views.preferences, name="preferences"),
    path("settings/team/", views.team_switch, name="team-switch"),
    path("settings/tokens/", views.token_new, name="token-new"),
    path("settings/tokens/<int:pk>/revoke/", views.token_end, name="token-revoke"),
]
