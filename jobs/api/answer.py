"""How one job is answered, and a request that breaks rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import OuterRef, Subquery
from django.shortcuts import get_object_or_404
from rest_framework import exceptions

from jobs.alerting import alerts_seen
from jobs.findings import Finding
from jobs.models import Job
from jobs.origins import origin_read
from jobs.private import private_read
from jobs.querysets import JobQuerySet
from jobs.reasons import job_waiting
from jobs.serializers import JobSerializer
from jobs.states import State
from jobs.texts import finding_text
from teams.models import User


def visible_jobs(user: Any) -> JobQuerySet:
    """The jobs that the user may see, with what a row of a list needs."""
    jobs: JobQuerySet = Job.objects.for_user(user).shown()
    seen = Job.objects.for_user(user).filter(pk=OuterRef("origin")).values("key")[:1]
    jobs = jobs.annotate(origin_key=Subquery(seen))
    return jobs.select_related("creator", "team").prefetch_related("tags", "attempts")


def visible_job(user: Any, key: str) -> Job:
    """Http404 for a stranger."""
    job: Job = get_object_or_404(visible_jobs(user), key=key)
    return job


def job_answer(job: Job, user: User) -> dict[str, Any]:
    """The job as its reader sees it."""
    waiting = job.state == State.QUEUED and not job.stopping
    place, waits_for = job_waiting(job) if waiting else (None, None)
    context = {
        "private": private_read(job=job, user=user),
        "origin": origin_read(job=job, user=user),
        "alerts": alerts_seen(job=job, user=user),
        "place": place,
        "waits_for": waits_for,
    }
    return dict(JobSerializer(job, context=context).data)


def refusal(findings: Sequence[Finding]) -> exceptions.ValidationError:
    """The errors of a request, under their fields and with the codes of the findings."""
    errors: dict[str, list[exceptions.ErrorDetail]] = {}
    for finding in findings:
        text = finding_text(finding.code, finding.data)
        errors.setdefault(finding.field, []).append(exceptions.ErrorDetail(text, code=finding.code))
    return exceptions.ValidationError(errors)
