"""REST: signing in, and who is calling."""

from __future__ import annotations

from typing import cast

from django.contrib.auth import authenticate
from django.utils.translation import gettext_lazy as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from teams.models import Membership, User
from teams.rest import ApiView
from teams.rest_defaults import TokenAuthentication
from teams.serializers import MeSerializer, TokenRequestSerializer, TokenSerializer
from teams.services import token_create


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the OpenAPI document describes our tokens."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`Token ` and a token of `POST /api/v1/auth/token/`",
        }


class TokenView(ApiView):
    """Makes a token. One of the same name is replaced, so a script that signs in anew leaves no heap."""

    authentication_classes = ()
    permission_classes = ()
    serializer_class = TokenRequestSerializer

    @extend_schema(responses=TokenSerializer)
    def post(self, request: Request) -> Response:
        asked = TokenRequestSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        name = asked.validated_data.pop("name")
        http = request._request
        user = authenticate(http, **asked.validated_data)
        if getattr(http, "axes_locked_out", False):
            http.axes_locked_out = False  # type: ignore[attr-defined]  # else the middleware answers
            raise exceptions.Throttled(detail=_("Too many failed attempts; try again later."))
        if user is None:
            raise exceptions.AuthenticationFailed(_("The user name or the password is wrong."))
        token, expires_at = token_create(user=user, name=name)
        return Response(TokenSerializer({"token": token, "expires_at": expires_at}).data)

    def get_authenticate_header(self, request: Request) -> str:
        return TokenAuthentication.keyword


class MeView(ApiView):
    """Who is calling, and their teams."""

    serializer_class = MeSerializer

    def get(self, request: Request) -> Response:
        user = cast(User, request.user)
        memberships = Membership.objects.filter(user=user.pk).select_related("team").order_by("team__name")
        answer = {
            "id": user.pk,
            "username": user.get_username(),
            "name": user.get_full_name(),
            "is_staff": user.is_staff,
            "teams": memberships,
        }
        return Response(MeSerializer(answer).data)
