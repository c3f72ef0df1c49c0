"""All addresses of the console."""

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import include, path
from django.views.i18n import set_language
from drf_spectacular.views import SpectacularSwaggerView

from console import views

urlpatterns = [
    path("", views.home, name="home"),
    path("", include("jobs.urls")),
    path("", include("runs.urls")),
    path("accounts/login/", views.SignIn.as_view(), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    path("i18n/setlang/", set_language, name="set_language"),
    path("healthz", views.healthz, name="healthz"),
    path("admin/", admin.site.urls),
    path("api/v1/", include("console.api_urls")),
    path("api/docs/", SpectacularSwaggerView.as_view(url_name="api-schema"), name="api-docs"),
]
