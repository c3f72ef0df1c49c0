"""The job of a filled form, which remembers the job that it was filled from."""

from __future__ import annotations

from jobs.forms.job import JobForm
from jobs.models import Job
from jobs.repeating import job_replace
from jobs.services import Origin, job_create
from jobs.states import OriginKind


def form_create(form: JobForm) -> Job:
    """RequestRefused, WouldWait and PromiseBroken as from `job_create`, NotReplaced as from `job_replace`."""
    earlier = origin_of(form)
    if earlier is not None and form.cleaned_data.get("replaces"):
        spec, promise = form.job_spec(), form.promised()
        return job_replace(user=form.user, spec=spec, promise=promise, replaced=earlier)
    origin = Origin(earlier.pk, OriginKind.CLONE) if earlier else None
    return job_create(user=form.user, spec=form.job_spec(), promise=form.promised(), origin=origin)


def origin_of(form: JobForm) -> Job | None:
    """The job that the form says it was filled from; None where its sender sees no such job."""
    key = form.cleaned_data.get("origin")
    job: Job | None = Job.objects.for_user(form.user).light().filter(key=key).first() if key else None
    return job


def replaced_by(form: JobForm) -> Job | None:
    """The waiting job in whose place the form's is to come."""
    return origin_of(form) if form.cleaned_data.get("replaces") else None
