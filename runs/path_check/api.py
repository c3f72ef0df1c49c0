"""REST: checks of paths before a job is sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.findings import Finding
from runs.models import PathCheck
from runs.path_check.serializers import PathCheckRequestSerializer, PathCheckSerializer
from runs.path_check.services import CheckRefused, TooManyChecks, path_check_create
from runs.path_check.texts import TOO_MANY, refusal_text
from teams.models import User
from teams.rest import ApiView


class ManyChecks(exceptions.APIException):
    status_code = status.HTTP_429_TOO_MANY_REQUESTS
    default_code = "too_many_checks"
    default_detail = TOO_MANY


class PathCheckStart(ApiView):
    """Looks from inside a Worker without GPUs at the paths that a request names; makes folders if asked to.
    A person has one check at a time: a second one takes the place of the first."""

    serializer_class = PathCheckSerializer

    @extend_schema(request=PathCheckRequestSerializer, responses={202: PathCheckSerializer})
    def post(self, request: Request) -> Response:
        body = PathCheckRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        try:
            check = path_check_create(
                user=cast(User, request.user),
                spec=body.job_spec(),
                paths=body.paths_given,
                create=body.to_create,
            )
        except CheckRefused as refused:
            raise _refusal(refused.findings) from refused
        except TooManyChecks as error:
            raise ManyChecks from error
        return Response(PathCheckSerializer(check).data, status=status.HTTP_202_ACCEPTED)


class PathCheckDetail(ApiView):
    """What was found. It is kept for an hour, for whoever asked for it."""

    serializer_class = PathCheckSerializer

    def get(self, request: Request, key: str) -> Response:
        check = get_object_or_404(PathCheck.objects.for_user(request.user), key=key)
        return Response(PathCheckSerializer(check).data)


def _refusal(findings: Sequence[Finding]) -> exceptions.ValidationError:
    errors: dict[str, list[exceptions.ErrorDetail]] = {}
    for finding in findings:
        text = refusal_text(finding.code, finding.data)
        errors.setdefault(finding.field, []).append(exceptions.ErrorDetail(text, code=finding.code))
    return exceptions.ValidationError(errors)
