"""The views of jobs and of the queues of pools."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from django.db.models import BigIntegerField, Count, ExpressionWrapper, F, QuerySet
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import exceptions, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from alerts.api import DeliveryPages
from alerts.models import Delivery
from alerts.rules import Subject
from alerts.serializers import DeliverySerializer
from jobs.api.answer import job_answer, refusal, visible_job, visible_jobs
from jobs.api.creating import HEADER, CreateParams, Making, create_answer, estimate_answer
from jobs.api.filters import CountsFilter, JobFilter, filtered
from jobs.clone import clone_body
from jobs.editing import HasEnded, NotWaiting, job_edit, may_edit, may_use_high
from jobs.models import Job, JobEvent, Worker
from jobs.querysets import LARGE_FIELDS
from jobs.reading import channels_read, waiting_since
from jobs.rerun import Repeater, allowed_to
from jobs.serializers import (
    CountsSerializer,
    EnvCheckSerializer,
    EstimateSerializer,
    EventSerializer,
    JobEditSerializer,
    JobRequestSerializer,
    JobRowSerializer,
    JobSerializer,
    WaitingSerializer,
    WorkerSerializer,
)
from jobs.services import RequestRefused, job_create, job_stop, may_stop
from jobs.states import State
from pools.models import Pool
from teams.models import Membership, User
from teams.rest import LARGEST, ApiView, ListView, NothingSerializer, Pages

PRIORITY_STEP = 2**48  # more than there are jobs


class JobPages(Pages):
    ordering = "-id"
    page_size = 50
    max_page_size = 200


class RankPages(Pages):
    ordering = "rank"


class QueuePages(Pages):
    ordering = "place"


class JobList(ListView):
    """Jobs of the caller's teams, the newest first, and making one."""

    pagination_class = JobPages
    serializer_class = JobRowSerializer
    query = {"GET": JobFilter, "POST": CreateParams}

    def get_queryset(self) -> QuerySet[Job]:
        return filtered(visible_jobs(self.request.user).light(), self.asked)

    @extend_schema(
        request=JobRequestSerializer,
        parameters=[
            OpenApiParameter(
                HEADER,
                str,
                OpenApiParameter.HEADER,
                description="A repetition makes no second job.",
            )
        ],
        responses={
            201: JobSerializer,
            200: OpenApiResponse(EstimateSerializer, description="With `dry_run=true`"),
        },
    )
    def post(self, request: Request) -> Response:
        body = JobRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        spec, user = body.job_spec(), cast(User, request.user)
        if self.asked["dry_run"]:
            return estimate_answer(user, spec, self.asked.get("ranks"))
        return create_answer(request, Making(user, spec, partial(job_create, user=user, spec=spec)))


class JobCounts(ApiView):
    """How many of the caller's teams' jobs are in which state."""

    serializer_class = CountsSerializer
    query = {"GET": CountsFilter}

    def get(self, request: Request) -> Response:
        jobs = filtered(Job.objects.for_user(request.user), self.asked).order_by()
        counted = dict(jobs.values_list("state").annotate(n=Count("pk")))
        counts = {str(state): counted.get(str(state), 0) for state in State}
        return Response(CountsSerializer(counts | {"total": sum(counts.values())}).data)


class DoesNotWait(exceptions.APIException):
    status_code = status.HTTP_409_CONFLICT
    default_code = "not_waiting"
    default_detail = _("The job does not wait any more: its priority stays as it was.")


class JobHasEnded(exceptions.APIException):
    status_code = status.HTTP_409_CONFLICT
    default_code = "has_ended"
    default_detail = _("The job has ended: nobody is told of anything more.")


class JobDetail(ApiView):
    """One job, and changing the little of it that may be changed."""

    serializer_class = JobSerializer

    def get(self, request: Request, key: str) -> Response:
        return Response(job_answer(visible_job(request.user, key), cast(User, request.user)))

    @extend_schema(request=JobEditSerializer, responses=JobSerializer)
    def patch(self, request: Request, key: str) -> Response:
        """Changes priority (while the job waits), description, tags, or alerts (until the job has ended). For
        its creator and team admins. Alerts to channels that the caller may not use stay as they are."""
        user = cast(User, request.user)
        job = visible_job(user, key)
        if not may_edit(user=user, job=job):
            raise exceptions.PermissionDenied
        body = JobEditSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        try:
            job_edit(job=job, actor=user, edit=body.edit())
        except RequestRefused as refused:
            raise refusal(refused.findings) from refused
        except NotWaiting as error:
            raise DoesNotWait from error
        except HasEnded as error:
            raise JobHasEnded from error
        return Response(job_answer(visible_job(user, key), user))


class JobClone(ApiView):
    """The body of `POST jobs/` that would create the job once more, its private values by reference. From a
    team mate's job they are taken over as long as team, image and command stay as they are. High priority
    becomes normal for who may not use it, and alerts to channels that the caller may not use are left out."""

    serializer_class = JobRequestSerializer

    def get(self, request: Request, key: str) -> Response:
        user = cast(User, request.user)
        job = get_object_or_404(Job.objects.for_user(user), key=key)
        may = may_use_high(user=user, job=job)
        repeater = Repeater(may, channels_read(user.pk, job.team_id))
        spec, _changes = allowed_to(repeater, job.spec_to_repeat)
        return Response(clone_body(spec, job.key))


class JobStop(ApiView):
    """Asks for the end of a job; one that has ended stays as it is. For its creator and team admins."""

    serializer_class = NothingSerializer

    @extend_schema(request=None, responses=JobSerializer)
    def post(self, request: Request, key: str) -> Response:
        NothingSerializer(data=request.data).is_valid(raise_exception=True)
        user = cast(User, request.user)
        job = visible_job(user, key)
        if not may_stop(user=user, job=job):
            raise exceptions.PermissionDenied
        job_stop(job=job, actor=user)
        return Response(job_answer(visible_job(user, key), user))


class EventList(ListView):
    """What happened to a job, the oldest first."""

    serializer_class = EventSerializer

    def get_queryset(self) -> QuerySet[JobEvent]:
        job = get_object_or_404(Job.objects.for_user(self.request.user).light(), key=self.kwargs["key"])
        return JobEvent.objects.filter(job=job).select_related("actor")


class DeliveryList(ListView):
    """What became of the notices of a job, the newest first."""

    pagination_class = DeliveryPages
    serializer_class = DeliverySerializer

    def get_queryset(self) -> QuerySet[Delivery]:
        job = get_object_or_404(Job.objects.for_user(self.request.user).light(), key=self.kwargs["key"])
        return Delivery.objects.of_subject(Subject.JOB, job.pk, self.request.user)


class AttemptParam(serializers.Serializer[Any]):
    attempt = serializers.IntegerField(
        required=False, min_value=1, max_value=LARGEST, help_text="By default the latest."
    )


class WorkerList(ListView):
    """The Workers of an attempt; none before the job was placed."""

    pagination_class = RankPages
    serializer_class = WorkerSerializer
    query = {"GET": AttemptParam}

    def get_queryset(self) -> QuerySet[Worker]:
        job = get_object_or_404(Job.objects.for_user(self.request.user).light(), key=self.kwargs["key"])
        number = self.asked.get("attempt", job.attempt)
        workers = Worker.objects.filter(attempt__job=job, attempt__number=number)
        large = [f"attempt__job__{name}" for name in LARGE_FIELDS]
        return workers.select_related("attempt__job").defer(*large)


class EnvCheckList(ListView):
    """What the environment check has found in the Workers of an attempt, once it has ended there."""

    pagination_class = RankPages
    serializer_class = EnvCheckSerializer
    query = {"GET": AttemptParam}

    def get_queryset(self) -> QuerySet[Worker]:
        job = get_object_or_404(Job.objects.for_user(self.request.user).light(), key=self.kwargs["key"])
        number = self.asked.get("attempt", job.attempt)
        workers = Worker.objects.filter(attempt__job=job, attempt__number=number, env_check__isnull=False)
        return workers.select_related("attempt")


class PoolQueue(ListView):
    """The jobs that wait in a pool, in the order of the queue."""

    pagination_class = QueuePages
    serializer_class = WaitingSerializer

    def get_queryset(self) -> QuerySet[Job]:
        pool = get_object_or_404(Pool.objects.for_user(self.request.user), pk=self.kwargs["pk"])
        order = F("priority") * PRIORITY_STEP + F("pk")
        place = ExpressionWrapper(order, output_field=BigIntegerField())
        waiting = Job.objects.waiting().light().filter(pool=pool)
        annotated: QuerySet[Job] = waiting.annotate(place=place, waiting_since=waiting_since())
        return annotated

    def get_serializer_context(self) -> dict[str, Any]:
        teams = Membership.objects.filter(user=self.request.user.pk).values_list("team", flat=True)
        return {**super().get_serializer_context(), "teams": set(teams)}
