"""`POST jobs/` and reruns: from a body to a job or an estimate, once for each Idempotency-Key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_lazy as _
from rest_framework import exceptions, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.api.answer import job_answer, refusal, visible_job
from jobs.estimate import SHOWN_RANKS, Estimate, read_ahead
from jobs.idempotency import Call, OtherBody, UnderWay, claim, give_up, settle
from jobs.models import IdempotencyKey, Job
from jobs.private import private_read
from jobs.serializers import EstimateSerializer
from jobs.services import RequestRefused, WouldWait, job_estimate
from jobs.spec import MOST_WORKERS, JobSpec
from jobs.texts import reason_text, would_wait_text
from teams.models import User

HEADER = "Idempotency-Key"
LONGEST_KEY = 200


class CreateParams(serializers.Serializer[Any]):
    dry_run = serializers.BooleanField(
        default=False, help_text="Answer 200 with the estimate and store nothing."
    )
    ranks = serializers.ChoiceField(
        choices=["all"], required=False, help_text="List all Workers of the estimate, not only the first 8."
    )


class KeyUsed(exceptions.APIException):
    status_code = status.HTTP_422_UNPROCESSABLE_ENTITY
    default_code = "idempotency_key_used"
    default_detail = _("This Idempotency-Key was used for another request.")


class KeyBusy(exceptions.APIException):
    status_code = status.HTTP_409_CONFLICT
    default_code = "idempotency_key_busy"
    default_detail = _("The first request with this Idempotency-Key has not ended yet; ask again.")
    wait = 1


class CannotStartNow(exceptions.APIException):
    """Of a request that is not to wait: the second error is why it would."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "cannot_start_now"


def estimate_answer(user: User, spec: JobSpec, ranks: str | None) -> Response:
    shown = MOST_WORKERS if ranks == "all" else SHOWN_RANKS
    return Response(EstimateSerializer(job_estimate(user=user, spec=spec, ranks=shown)).data)


@dataclass(frozen=True, slots=True)
class Making:
    """How the job comes to be that a call asks for, and what is going to be judged then."""

    user: User
    spec: JobSpec
    make: Callable[[], Job]


def create_answer(request: Request, making: Making) -> Response:
    """201 with the job. ValidationError if rules are broken, CannotStartNow if it would wait and must not."""
    key = _key(request)
    try:
        if key is None:
            return Response(_created(making), status=status.HTTP_201_CREATED)
        return _create_once(Call(making.user, request.path, key, request.data), making)
    except RequestRefused as refused:
        raise refusal(refused.findings) from refused
    except WouldWait as refused:
        raise _not_now(refused.judged) from refused


def _not_now(judged: Estimate) -> CannotStartNow:
    errors = [exceptions.ErrorDetail(would_wait_text(judged), code=CannotStartNow.default_code)]
    if judged.reason is not None:
        text = reason_text(judged.reason.code, judged.reason.data)
        errors.append(exceptions.ErrorDetail(text, code=judged.reason.code))
    return CannotStartNow(errors)


def _key(request: Request) -> str | None:
    key = request.headers.get(HEADER)
    if key is not None and not (key.isascii() and key.isprintable() and 0 < len(key) <= LONGEST_KEY):
        detail = _("1 to %(most)s printable ASCII characters.") % {"most": LONGEST_KEY}
        raise exceptions.ValidationError({HEADER: [detail]})
    return key


def _created(making: Making) -> dict[str, Any]:
    job = making.make()
    return job_answer(visible_job(making.user, job.key), making.user)


def _create_once(call: Call, making: Making) -> Response:
    try:
        row = claim(call)
        if row.status is not None:
            return _replayed(row, call.user)
        answer = _settled(row, making)
    except OtherBody as error:
        raise KeyUsed from error
    except UnderWay as error:
        raise KeyBusy from error
    return Response(answer, status=status.HTTP_201_CREATED)


def _settled(row: IdempotencyKey, making: Making) -> dict[str, Any]:
    try:
        read_ahead(making.spec)
        with transaction.atomic():
            answer = _created(making)
            settle(row, status.HTTP_201_CREATED, answer | {"env": _without_private(answer["env"])})
    except BaseException:
        give_up(row)
        raise
    return answer


def _without_private(env: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What of the variables may be kept in clear."""
    return [v | {"value": None} if v["private"] else v for v in env]


def _replayed(row: IdempotencyKey, user: User) -> Response:
    """The first answer, its private values put back from where they lie encrypted."""
    answer: Any = row.answer
    private = private_read(job=visible_job(user, answer["id"]), user=user)
    for variable in answer["env"]:
        if variable["private"]:
            variable["value"] = private.get(variable["name"])
    return Response(answer, status=row.status, headers={"Idempotent-Replayed": "true"})
