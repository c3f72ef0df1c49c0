"""A trial run of what the form holds."""

from __future__ import annotations

from uuid import uuid4

from django.utils.translation import gettext as _

from jobs.forms.job import JobForm
from jobs.models import Job
from jobs.rules.limits import MOST_NAME
from jobs.services import RequestRefused, job_estimate
from jobs.trials import trial_create, trial_of


def trial_made(form: JobForm) -> tuple[Job, bool]:
    """The trial, and whether it is new; see `trial_create`.

    RequestRefused if the form breaks a rule, or holds what cannot be understood (`form.unclear`).
    """
    spec = form.job_spec()
    trial = trial_of(spec, form.offer.pool, trial_name(spec.name.strip()))
    if form.unclear:
        raise RequestRefused(job_estimate(user=form.user, spec=trial).errors)
    draft = form.cleaned_data.get("token") or str(uuid4())
    return trial_create(user=form.user, spec=trial, draft=draft)


def trial_name(name: str) -> str:
    """The job's, marked as a trial. A form that has none yet can be tried all the same."""
    if not name:
        return _("trial run")
    room = MOST_NAME - len(_("%(name)s (trial)") % {"name": ""})
    return _("%(name)s (trial)") % {"name": name[:room]}
