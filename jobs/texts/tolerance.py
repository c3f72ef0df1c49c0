"""What the platform does when a run goes wrong, in words, with the numbers of the request."""

from __future__ import annotations

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext

from jobs.rules.limits import HUNG_AFTER
from jobs.spec import JobSpec
from jobs.texts.filling import kept_by_language, span_text
from jobs.texts.states import HOUR, MINUTE

HANG_LEADS_TO = {
    "notify": gettext_lazy("there is an event, and the job goes on."),
    "restart": gettext_lazy("all Workers are stopped and the job is restarted, as after a failure."),
    "fail": gettext_lazy("all Workers are stopped and the job ends as failed."),
}


RULE_NOT_YET = gettext_lazy("What will be done is said here once its value is right.")


def restart_rule(spec: JobSpec) -> str:
    return _restart_rule(
        spec.max_restarts, settings.RESTART_PAUSE_SECONDS, settings.LONGEST_RESTART_PAUSE_SECONDS
    )


@kept_by_language
def _restart_rule(restarts: int, first: float, longest: float) -> str:
    times = ngettext("at most %(n)s time", "at most %(n)s times", restarts) % {"n": restarts}
    told = {"times": times, "first": _span(first), "longest": _span(longest)}
    return (
        _(
            "After a failure the GPUs are given back and the job waits at its old place in the queue, "
            "%(times)s. The pause before is %(first)s, then twice as long each time, up to %(longest)s. "
            "Not after a stop or the maximum running time."
        )
        % told
    )


def _span(seconds: float) -> str:
    """A length of time in the largest unit that holds it whole."""
    if seconds >= HOUR and not seconds % HOUR:
        return pgettext("length of time", "%(n)s h") % {"n": int(seconds // HOUR)}
    if seconds >= MINUTE and not seconds % MINUTE:
        return pgettext("length of time", "%(n)s min") % {"n": int(seconds // MINUTE)}
    return pgettext("length of time", "%(n)s s") % {"n": f"{seconds:g}"}


def hang_rule(spec: JobSpec) -> str:
    return hang_rule_of(spec.hang_timeout_seconds, spec.hang_does)


@kept_by_language
def hang_rule_of(silent: float, then: str) -> str:
    """`silent` is in seconds, `then` a hang action."""
    told = {"suspect": _span(silent), "hung": _span(HUNG_AFTER * silent), "then": HANG_LEADS_TO.get(then, "")}
    return (
        _(
            "No new output of any Worker for %(suspect)s: an event, the job goes on. Idle for that time as "
            "well (below 5%% of one core), or no output for %(hung)s whatever the load: %(then)s "
            "With real GPUs only the latter counts."
        )
        % told
    )


def disk_rule(spec: JobSpec) -> str:
    """What becomes of what the Workers write on their own disks."""
    return _disk_rule(spec.keep_after_failure_minutes)


@kept_by_language
def _disk_rule(minutes: int) -> str:
    if minutes <= 0:
        return _("For each Worker; emptied when the job ends, whatever the outcome.")
    text = _("For each Worker; emptied when the job ends, after a failure %(span)s later.")
    return text % {"span": span_text(minutes, "minutes")}
