"""REST: the stacks of a job's Python processes."""

from __future__ import annotations

from typing import Any, cast

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import exceptions, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import Job
from jobs.texts import finding_text
from runs.captures import NoSuchWorker, NotRunning, capture_ask
from runs.models import CHECK_STATES, StackCapture
from runs.stack_texts import stack_reason_text
from teams.models import User
from teams.rest import ApiView, ListView, StrictIntegerField, StrictSerializer


class JobDoesNotRun(exceptions.APIException):
    status_code = status.HTTP_409_CONFLICT
    default_code = "not_running"
    default_detail = _("The job does not run.")


class StacksRequestSerializer(StrictSerializer):
    rank = StrictIntegerField(
        required=False, allow_null=True, min_value=0, help_text="One Worker; all of them by default."
    )


class StackReasonSerializer(serializers.Serializer[Any]):
    """Why there are none: a code, and the sentence in the reader's language."""

    code = serializers.CharField()
    message = serializers.SerializerMethodField()

    def get_message(self, reason: Any) -> str:
        return stack_reason_text(reason["code"], reason["data"])


class FrameSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    file = serializers.CharField()
    line = serializers.IntegerField()


class ThreadSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(allow_blank=True)
    ident = serializers.IntegerField(help_text="Its number inside the Worker.")
    active = serializers.BooleanField(help_text="It computed at that moment; else it waited.")
    frames = FrameSerializer(many=True, help_text="The innermost first.")
    more_frames = serializers.IntegerField(help_text="So many were left out.")


class ProcessSerializer(serializers.Serializer[Any]):
    pid = serializers.IntegerField(help_text="Its number inside the Worker.")
    program = serializers.CharField(help_text="Program and script by name, without arguments.")
    threads = ThreadSerializer(many=True)
    more_threads = serializers.IntegerField()
    trouble = StackReasonSerializer(allow_null=True)


class WorkerStacksSerializer(serializers.Serializer[Any]):
    rank = serializers.IntegerField()
    processes = ProcessSerializer(many=True, help_text="Those of Python.")
    more_processes = serializers.IntegerField()
    trouble = StackReasonSerializer(allow_null=True)


class CaptureRowSerializer(serializers.ModelSerializer[StackCapture]):
    attempt = serializers.IntegerField(source="attempt.number")
    rank = serializers.IntegerField(allow_null=True, help_text="Null: all Workers.")
    automatic = serializers.BooleanField(help_text="Taken when the job was suspected to hang.")
    asked_by = serializers.CharField(source="asked_by.username", default=None, allow_null=True)
    state = serializers.ChoiceField(choices=[str(state) for state in CHECK_STATES])
    reason = StackReasonSerializer(allow_null=True)

    class Meta:
        model = StackCapture
        fields = ["id", "attempt", "rank", "automatic", "asked_by", "state", "reason", "at", "taken_at"]


class CaptureSerializer(CaptureRowSerializer):
    workers = serializers.SerializerMethodField(help_text="Null while there is no answer.")

    class Meta(CaptureRowSerializer.Meta):
        fields = [*CaptureRowSerializer.Meta.fields, "workers"]

    @extend_schema_field(WorkerStacksSerializer(many=True, allow_null=True))
    def get_workers(self, capture: StackCapture) -> Any:
        found = capture.result
        return None if found is None else WorkerStacksSerializer(found["workers"], many=True).data


class StackList(ListView):
    """Captures of where the Python processes of a job were, without what they found. POST asks for one of the
    running attempt, which is taken within moments: ask for it until `state` is `done` or `failed`."""

    serializer_class = CaptureRowSerializer

    def get_queryset(self) -> QuerySet[StackCapture]:
        job = get_object_or_404(Job.objects.for_user(self.request.user).light(), key=self.kwargs["key"])
        return StackCapture.objects.of_job(job)

    @extend_schema(request=StacksRequestSerializer, responses={202: CaptureSerializer})
    def post(self, request: Request, key: str) -> Response:
        job = get_object_or_404(Job.objects.for_user(request.user).light(), key=key)
        body = StacksRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        try:
            capture = capture_ask(
                job=job, user=cast(User, request.user), rank=body.validated_data.get("rank")
            )
        except NoSuchWorker as error:
            most = {"least": 0, "most": job.shape.workers - 1}
            raise serializers.ValidationError(
                {"rank": finding_text("out_of_range", most)}, code="out_of_range"
            ) from error
        except NotRunning as error:
            raise JobDoesNotRun from error
        return Response(CaptureSerializer(capture).data, status=status.HTTP_202_ACCEPTED)


class StackDetail(ApiView):
    """One capture with what it found."""

    serializer_class = CaptureSerializer

    def get(self, request: Request, key: str, pk: int) -> Response:
        job = get_object_or_404(Job.objects.for_user(request.user).light(), key=key)
        mine = StackCapture.objects.of_job(job).defer(None)
        return Response(CaptureSerializer(get_object_or_404(mine, pk=pk)).data)
