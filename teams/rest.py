"""How every REST view of the console behaves: strict about what comes in, conditional about what goes out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.utils.cache import get_conditional_response, patch_cache_control
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.openapi import AutoSchema
from drf_standardized_errors.formatter import ExceptionFormatter
from drf_standardized_errors.handler import ExceptionHandler
from rest_framework import exceptions, serializers
from rest_framework.generics import GenericAPIView
from rest_framework.mixins import ListModelMixin
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response

LARGEST = 2**63 - 1  # what a database column holds


class StrictIntegerField(serializers.IntegerField):
    """A JSON integer: no text, no boolean, no fraction."""

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:
            self.fail("invalid")
        if abs(data) > LARGEST:
            raise exceptions.ValidationError(_("This number is too large."), code="out_of_range")
        return data


class StrictBooleanField(serializers.BooleanField):
    """`true` or `false`, nothing that only looks like it."""

    def to_internal_value(self, data: Any) -> bool:
        if type(data) is not bool:
            self.fail("invalid")
        return data


class StrictStringField(serializers.CharField):
    """JSON text, kept sign by sign. `nul` leaves NUL characters to a rule of the request."""

    def __init__(self, *, nul: bool = False, **kwargs: Any) -> None:
        super().__init__(**{"trim_whitespace": False} | kwargs)
        if nul:
            refused = "ProhibitNullCharactersValidator"
            self.validators = [v for v in self.validators if type(v).__name__ != refused]

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return data


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses fields that it does not know. `server_owned` names those that only answers have."""

    server_owned: frozenset[str] = frozenset()

    def to_internal_value(self, data: Any) -> Any:
        errors = self._unknown(data) if isinstance(data, Mapping) else {}
        try:
            values = super().to_internal_value(data)
        except exceptions.ValidationError as error:
            if isinstance(error.detail, dict):
                raise exceptions.ValidationError({**errors, **error.detail}) from error
            raise
        if errors:
            raise exceptions.ValidationError(errors)
        return values

    def _unknown(self, data: Mapping[str, Any]) -> dict[str, list[exceptions.ErrorDetail]]:
        known = [name for name, field in self.fields.items() if not field.read_only]
        return {_printable(name): [self._refusal(name, known)] for name in data if name not in known}

    def _refusal(self, name: str, known: Sequence[str]) -> exceptions.ErrorDetail:
        if name in self.server_owned:
            return exceptions.ErrorDetail(gettext("Only the console sets this field."), code="read_only")
        return unknown_error(name, known, none=gettext("This call takes no fields."))


class NothingSerializer(StrictSerializer):
    """A body without fields."""


def _printable(name: str) -> str:
    """What of a name can be told back: not endless, and no half of a surrogate pair."""
    return name[:100].encode("utf-8", "replace").decode()


def unknown_error(name: str, known: Sequence[str], *, none: str) -> exceptions.ErrorDetail:
    """“Unknown”, with the name that was probably meant; `none` is said where no name is known."""
    near = get_close_matches(name[:100], known, n=1)
    if not known:
        detail = none
    elif near:
        detail = gettext("Unknown. Did you mean “%(near)s”?") % {"near": near[0]}
    else:
        detail = gettext("Unknown. Known are: %(known)s.") % {"known": ", ".join(known)}
    return exceptions.ErrorDetail(detail, code="unknown")


class BodyTooLarge(exceptions.APIException):
    status_code = 413
    default_code = "body_too_large"
    default_detail = _("The body is larger than the console takes.")


class ErrorHandler(ExceptionHandler):
    """Also knows what Django raises while a body is read."""

    def convert_known_exceptions(self, exc: Exception) -> Exception:
        if isinstance(exc, RequestDataTooBig):
            return BodyTooLarge()
        known: Exception = super().convert_known_exceptions(exc)
        return known


class ErrorFormatter(ExceptionFormatter):
    """`attr` is the path of a field (`env.0.name`), and null where an error is about the whole body."""

    def get_errors(self) -> list[Any]:
        errors: Iterable[Any] = super().get_errors()
        return [_placed(error) for error in errors]


def _placed(error: Any) -> Any:
    whole = "non_field_errors"
    if error.attr == whole:
        error.attr = None
    elif error.attr and error.attr.endswith(f".{whole}"):
        error.attr = error.attr.removesuffix(f".{whole}")
    return error


class Schema(AutoSchema):
    """Describes the query parameters that a view declares in `query`."""

    def get_override_parameters(self) -> list[Any]:
        declared = getattr(self.view, "query", {}).get(self.method)
        return [declared] if declared else []


class ApiView(GenericAPIView[Any]):
    """Checks the query before anything else, and answers a repeated GET with 304 if nothing changed.

    `query` names by method the serializer of its parameters; the checked values are in `self.asked`.
    """

    query: Mapping[str, type[serializers.Serializer[Any]]] = {}
    schema = Schema()
    asked: dict[str, Any]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.asked = self._check_query(request)

    def _check_query(self, request: Request) -> dict[str, Any]:
        declared = self.query.get("GET" if request.method == "HEAD" else request.method or "")
        checked = declared(data={**request.query_params.dict()}) if declared else None
        pages = request.method in ("GET", "HEAD") and isinstance(self.paginator, Pages)
        paging = Pages.names if pages else ()
        known = [*(checked.fields if checked else ()), *paging]
        errors: dict[str, Any] = {}
        for name, values in request.query_params.lists():
            if name not in known:
                none = gettext("This call takes no query parameters.")
                errors[name[:100]] = [unknown_error(name, known, none=none)]
            elif len(values) > 1:
                errors[name] = [exceptions.ErrorDetail(gettext("Given more than once."), code="repeated")]
        if checked is not None and not checked.is_valid():
            errors = {**checked.errors, **errors}
        if errors:
            raise exceptions.ValidationError(errors)
        return dict(checked.validated_data) if checked else {}

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        if request.method in ("GET", "HEAD") and isinstance(response, Response):
            patch_cache_control(response, private=True, no_cache=True)
            if response.status_code == 200:
                response.add_post_render_callback(lambda rendered: _conditional(request, rendered))
        return response


def _conditional(request: Request, response: Response) -> Any:
    etag = f'"{hashlib.sha256(response.content).hexdigest()[:32]}"'
    response["ETag"] = etag
    return get_conditional_response(request._request, etag=etag, response=response)


class Pages(CursorPagination):
    """Cursors over a key that only grows: nothing is seen twice and nothing is skipped while rows come."""

    ordering = "id"
    page_size = 200
    max_page_size = 1000
    page_size_query_param = "page_size"
    names = ("cursor", "page_size")

    def get_page_size(self, request: Request) -> int:
        text = request.query_params.get("page_size")
        if text is None:
            return self.page_size
        well_formed = text.isascii() and text.isdecimal() and len(text) < 10
        if not well_formed or not 1 <= int(text) <= self.max_page_size:
            detail = _("Must be from %(least)s to %(most)s.") % {"least": 1, "most": self.max_page_size}
            raise exceptions.ValidationError({"page_size": [detail]}, code="out_of_range")
        return int(text)

    def decode_cursor(self, request: Request) -> Cursor | None:
        try:
            cursor = super().decode_cursor(request)
        except exceptions.NotFound as error:
            raise self._invalid() from error
        position: Any = cursor.position if cursor else None  # text as decoded, whatever the stubs say
        if position is not None and not (position.isascii() and position.isdecimal() and len(position) < 19):
            raise self._invalid()
        return cursor

    def _invalid(self) -> exceptions.ValidationError:
        detail = _("Use a cursor as it was given in “next” or “previous”.")
        return exceptions.ValidationError({"cursor": [detail]}, code="invalid")


class ListView(ListModelMixin, ApiView):
    """GET of a list, a page at a time. `get_queryset` and `serializer_class` say of what."""

    pagination_class = Pages

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return self.list(request, *args, **kwargs)
