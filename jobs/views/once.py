"""One job from one filled form, however often it is sent."""

from __future__ import annotations

from uuid import uuid4

from django.db import transaction
from django.http import QueryDict
from django.utils import timezone
from django.utils.crypto import salted_hmac

from jobs.models import IdempotencyKey, Job
from jobs.services import job_create
from jobs.spec import JobSpec
from teams.models import User

PATH = "/jobs/create/"


def job_create_once(*, user: User, spec: JobSpec, token: str, posted: QueryDict) -> tuple[Job, bool]:
    """The job, and whether this call made it. The same form sent again, or twice at a time, finds the
    job of the first; the form changed after Back is another one.

    RequestRefused as from `job_create`; nothing is remembered then.
    """
    digest = _digest(posted)
    with transaction.atomic():
        row, first = IdempotencyKey.objects.get_or_create(
            user=user,
            path=PATH,
            key=f"{token or uuid4()}/{digest}",
            defaults={"body_hash": digest, "created_at": timezone.now()},
        )
        if first:
            job = job_create(user=user, spec=spec)
            row.status, row.answer = 303, {"id": job.key}
            row.save(update_fields=["status", "answer"])
            return job, True
    return Job.objects.get(key=(row.answer or {}).get("id")), False


def _digest(posted: QueryDict) -> str:
    """Of what was typed; keyed, as that holds secrets."""
    fields = sorted((name, values) for name, values in posted.lists() if name != "csrfmiddlewaretoken")
    return salted_hmac("jobs.views.once", repr(fields), algorithm="sha256").hexdigest()
