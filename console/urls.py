"""All addresses of the console."""

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import include, path
from drf_spectacular.views import SpectacularSwaggerView

from console import help_views, sign_in, views

urlpatterns = [
    path("", views.home, name="home"),
    path("home/live/", views.home_live, name="home-live"),
    path("jobs/create/", sign_in.job_create_or_sign_in, name="job-create"),
    path("", include("jobs.urls")),
    path("", include("runs.urls")),
    path("", include("teams.urls")),
    path("", include("pools.urls")),
    path("", include("images.urls")),
    path("", include("storage.urls")),
    path("", include("alerts.urls")),
    path("alerts/", views.alerts, name="alerts"),
    path("accounts/login/", sign_in.SignIn.as_view(), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    path("help/", help_views.help_index, name="help"),
    path("help/<slug:slug>/", help_views.help_page, name="help-page"),
    path("healthz", views.healthz, name="healthz"),
    path("admin/", admin.site.urls),
    path("api/v1/", include("console.api_urls")),
    path("api/docs/", SpectacularSwaggerView.as_view(url_name="api-schema"), name="api-docs"),
]
