"""How a job was made from an earlier one."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.difference import How
from jobs.models import Job
from jobs.texts.states import state_label

PRIVATE = {
    How.KEPT: gettext_lazy("the private value of the earlier job, used again"),
    How.ENTERED: gettext_lazy("a private value that was entered for this job"),
}


def private_text(how: How) -> str:
    """Where the value of a private variable comes from."""
    return str(PRIVATE[how])


def not_replaced_text(job: Job, *, may: bool) -> str:
    """Why a job does not give up its place in the queue to a new one."""
    data = {"job": job.key, "state": state_label(job.state, job.stopping)}
    if not may:
        text = _("You may not stop %(job)s, so it goes on. What you create from this form comes beside it.")
    elif job.finished:
        text = _("%(job)s waits no longer: it has ended (%(state)s). This form creates a new job like it.")
    else:
        text = _(
            "%(job)s waits no longer: it has started meanwhile (%(state)s) and goes on. "
            "What you create from this form comes beside it."
        )
    return text % data
