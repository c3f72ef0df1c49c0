"""All addresses of the byte listener."""

from django.urls import path

from console import files_views, views
from runs import download_views

handler400 = files_views.bad_request
handler403 = files_views.not_found  # nothing here tells whether there is something
handler404 = files_views.not_found
handler500 = files_views.server_error

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("logs/<str:token>", download_views.log_bytes, name="log-bytes"),
    path("files/<str:token>", download_views.file_bytes, name="file-bytes"),
]
