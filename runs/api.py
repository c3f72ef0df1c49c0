"""REST: the logs of Workers, to read in parts or to download."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import exceptions, serializers, status
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from engines.base import EngineError, LogChunk
from jobs.models import Job, Worker
from runs.downloads import log_address
from runs.logs import log_read
from teams.rest import LARGEST, ApiView

DEFAULT_BYTES = 2**20
MOST_BYTES = 8 * 2**20


class AttemptParams(serializers.Serializer[Any]):
    attempt = serializers.IntegerField(
        required=False, min_value=1, max_value=LARGEST, help_text="By default the latest."
    )


class LogParams(AttemptParams):
    offset = serializers.IntegerField(
        required=False, min_value=0, max_value=LARGEST, help_text="The first byte."
    )
    tail = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST_BYTES, help_text="Only so many bytes from the end."
    )
    limit = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_BYTES,
        help_text="The most bytes; 1 MiB by default.",
    )

    def validate(self, asked: dict[str, Any]) -> dict[str, Any]:
        if "offset" in asked and "tail" in asked:
            raise serializers.ValidationError({"tail": [_("Cannot be given together with “offset”.")]})
        return asked


class LogUnreadable(exceptions.APIException):
    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    default_code = "log_unreadable"
    default_detail = _("The log cannot be read now; try again.")


class WorkerView(ApiView):
    """What is about one Worker of a job that the caller may see."""

    serializer_class = None

    def find(self, request: Request, key: str, rank: int) -> tuple[Job, int]:
        """The job, and the number of the attempt that is asked about."""
        job: Job = get_object_or_404(
            Job.objects.for_user(request.user).light().select_related("pool"), key=key
        )
        number: int = self.asked.get("attempt", job.attempt)
        if number or rank >= job.shape.workers:  # before it was placed, a job has no Workers yet
            get_object_or_404(Worker, attempt__job=job, attempt__number=number, rank=rank)
        return job, number


class WorkerLog(WorkerView):
    """The output of one Worker, byte by byte as it was written."""

    query = {"GET": LogParams}

    def perform_content_negotiation(self, request: Request, force: bool = False) -> tuple[Any, str]:
        """Errors are JSON whatever text the caller accepts."""
        return JSONRenderer(), "application/json"

    @extend_schema(
        responses={
            (200, "text/plain"): OpenApiResponse(
                OpenApiTypes.STR,
                description="Headers: `X-Log-Offset` of the first byte, `X-Log-Size` of the whole log now, "
                "`X-Log-Complete`: whether nothing will be added, `X-Log-Cut`: bytes that were thrown away.",
            )
        }
    )
    def get(self, request: Request, key: str, rank: int) -> HttpResponse:
        job, number = self.find(request, key, rank)
        chunk = self._read(job, number, rank)
        headers = {
            "X-Log-Offset": str(chunk.offset),
            "X-Log-Size": str(chunk.size),
            "X-Log-Complete": "true" if chunk.complete else "false",
            "X-Log-Cut": str(chunk.cut_bytes),
            "Cache-Control": "private, no-cache",
        }
        return HttpResponse(chunk.data, content_type="text/plain; charset=utf-8", headers=headers)

    def _read(self, job: Job, number: int, rank: int) -> LogChunk:
        tail = self.asked.get("tail")
        offset = -tail if tail else self.asked.get("offset", 0)
        limit = self.asked.get("limit", tail or DEFAULT_BYTES)
        try:
            return log_read(job=job, attempt=number, rank=rank, offset=offset, limit=limit)
        except EngineError as error:
            raise LogUnreadable from error


class WorkerLogDownload(WorkerView):
    """The whole output of one Worker, at an address for a few minutes that needs no token."""

    query = {"GET": AttemptParams}

    @extend_schema(
        responses={
            302: OpenApiResponse(
                description="`Location` is where the bytes are. Follow it without the token. It answers "
                "`Range`, `If-Range`, `If-None-Match` and HEAD, and 403 once it has expired: ask here anew.",
            )
        }
    )
    def get(self, request: Request, key: str, rank: int) -> HttpResponseRedirect:
        job, number = self.find(request, key, rank)
        address = log_address(user=request.user, job=job, attempt=number, rank=rank)
        return HttpResponseRedirect(address, headers={"Cache-Control": "private, no-store"})
