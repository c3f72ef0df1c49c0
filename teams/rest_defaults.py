"""What REST_FRAMEWORK in the settings names: who is calling, and how bodies are read.

Apart from `teams.rest`, because Django REST framework imports these before it has views.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from rest_framework import authentication, exceptions, parsers
from rest_framework.request import Request
from rest_framework.utils import json

from teams.services import token_user


class TokenAuthentication(authentication.BaseAuthentication):
    """`Authorization: Token …`"""

    keyword = "Token"

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        words = authentication.get_authorization_header(request).split()
        if not words or words[0].lower() != self.keyword.lower().encode():
            return None
        if len(words) != 2:
            raise exceptions.AuthenticationFailed(_("The Authorization header is “Token <token>”."))
        user = token_user(token=words[1].decode("ascii", "replace"))
        if user is None:
            raise exceptions.AuthenticationFailed(_("This token is unknown or has expired."))
        return user, words[1]

    def authenticate_header(self, request: Request) -> str:
        return self.keyword


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are given once: of two, the client meant one, and nobody knows which."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise exceptions.ParseError(_("A name is given twice in one JSON object."))
    return fields


class JsonParser(parsers.JSONParser):
    """JSON in which too deep a nesting, or a name given twice, is a mistake of the client."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        encoding = (parser_context or {}).get("encoding", settings.DEFAULT_CHARSET)
        try:
            text = stream.read().decode(encoding)
            return json.loads(text, parse_constant=json.strict_constant, object_pairs_hook=_once)
        except ValueError as error:
            raise exceptions.ParseError(f"JSON parse error - {error}") from error
        except RecursionError as error:
            raise exceptions.ParseError(_("The JSON is nested too deeply.")) from error
