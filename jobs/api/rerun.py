"""`POST jobs/{id}/rerun/`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.api.answer import refusal, visible_job
from jobs.api.creating import HEADER, CreateParams, Making, create_answer
from jobs.estimate import SHOWN_RANKS
from jobs.models import Job
from jobs.repeating import job_rerun, rerun_estimate, rerun_request
from jobs.rerun import Changes, fields_of_rerun
from jobs.serializers import ChangeSerializer, EstimateSerializer, JobSerializer
from jobs.serializers.rerun import RerunEstimateSerializer, RerunRequestSerializer
from jobs.services import RequestRefused
from jobs.spec import MOST_WORKERS, JobSpec
from teams.models import User
from teams.rest import ApiView


class JobRerun(ApiView):
    """Creates the job once more: exactly as it was asked for, or with a few changes. For everybody in its
    team; whoever changes what runs with private values of somebody else enters values of their own."""

    serializer_class = RerunRequestSerializer
    query = {"POST": CreateParams}

    @extend_schema(
        request=RerunRequestSerializer,
        parameters=[
            OpenApiParameter(
                HEADER, str, OpenApiParameter.HEADER, description="A repetition makes no second job."
            )
        ],
        responses={
            201: JobSerializer,
            200: OpenApiResponse(RerunEstimateSerializer, description="With `dry_run=true`"),
        },
    )
    def post(self, request: Request, key: str) -> Response:
        user = cast(User, request.user)
        job = visible_job(user, key)
        body = RerunRequestSerializer(data=_body(request))
        body.is_valid(raise_exception=True)
        changes = body.changes()
        try:
            spec = rerun_request(user=user, job=job, changes=changes).spec
        except RequestRefused as refused:
            raise refusal(refused.findings) from refused
        if self.asked["dry_run"]:
            return _estimate(user, job, changes, self.asked.get("ranks"))
        return create_answer(request, Making(user, spec, lambda: _made(user, job, changes, spec)))


def _body(request: Request) -> Any:
    """No body is no change, also if it is called a form, in which a missing switch would be off."""
    return {} if isinstance(request.data, QueryDict) else request.data


def _made(user: User, job: Job, changes: Changes, spec: JobSpec) -> Job:
    try:
        return job_rerun(user=user, job=job, changes=changes)[0]
    except RequestRefused as refused:
        raise RequestRefused(fields_of_rerun(refused.findings, spec, changes.private)) from refused


def _estimate(user: User, job: Job, changes: Changes, ranks: str | None) -> Response:
    shown = MOST_WORKERS if ranks == "all" else SHOWN_RANKS
    judged, rerun = rerun_estimate(user=user, job=job, changes=changes, ranks=shown)
    findings = fields_of_rerun(judged.findings, rerun.spec, changes.private)
    answer = EstimateSerializer(replace(judged, findings=tuple(findings))).data
    return Response({**answer, "follows": ChangeSerializer(rerun.follows, many=True).data})
