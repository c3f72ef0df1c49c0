"""REST: the way in, and addresses that do not exist."""

from __future__ import annotations

from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from teams.rest import ApiView

COLLECTIONS = ("jobs", "pools", "specs", "images", "volumes", "zones", "alert-channels")


@extend_schema(exclude=True)
class ApiRoot(ApiView):
    """Where to go from here."""

    permission_classes = ()

    def get(self, request: Request) -> Response:
        names = ("me", *COLLECTIONS, "schema", "docs")
        return Response({name: request.build_absolute_uri(reverse(f"api-{name}")) for name in names})


@extend_schema(exclude=True)
class NoSuchAddress(ApiView):
    """Says so in JSON, where a client expects it."""

    permission_classes = ()

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        if request.path.endswith("/"):
            raise exceptions.NotFound
        raise exceptions.NotFound(_("There is nothing here. Addresses of the API end with a slash."))
