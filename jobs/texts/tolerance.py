"""What the platform does when a run goes wrong, in words, with the numbers of the request."""

from __future__ import annotations

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs.rules.limits import HUNG_AFTER
from jobs.spec import JobSpec
from jobs.texts.states import duration_text

HANG_LEADS_TO = {
    "notify": gettext_lazy("there is an event, and the job goes on."),
    "restart": gettext_lazy("all Workers are stopped and the job is restarted, as after a failure."),
    "fail": gettext_lazy("all Workers are stopped and the job ends as failed."),
}


def restart_rule(spec: JobSpec) -> str:
    times = ngettext("at most %(n)s time", "at most %(n)s times", spec.max_restarts) % {
        "n": spec.max_restarts
    }
    told = {
        "times": times,
        "first": duration_text(int(settings.RESTART_PAUSE_SECONDS)),
        "longest": duration_text(int(settings.LONGEST_RESTART_PAUSE_SECONDS)),
    }
    return (
        _(
            "After a failure the GPUs are given back and the job waits at its old place in the queue, "
            "%(times)s. The pause before is %(first)s, then twice as long each time, up to %(longest)s. "
            "Not after a stop or the maximum running time."
        )
        % told
    )


def hang_rule(spec: JobSpec) -> str:
    told = {
        "suspect": duration_text(spec.hang_timeout_seconds),
        "hung": duration_text(HUNG_AFTER * spec.hang_timeout_seconds),
        "then": HANG_LEADS_TO.get(spec.hang_does, ""),
    }
    return (
        _(
            "No new output of any Worker for %(suspect)s: an event, the job goes on. For %(hung)s: %(then)s "
            "Load of CPU and GPU is not looked at."
        )
        % told
    )
