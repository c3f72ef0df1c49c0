"""Names of events, in the reader's language."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import pgettext_lazy

from alerts.rules import CHANNEL_DISABLED, CHANNEL_GONE, CHANNEL_UNSHARED, TEST

EVENT_LABELS: dict[str, Promise] = {
    "running": pgettext_lazy("event", "Started running"),
    "succeeded": pgettext_lazy("event", "Succeeded"),
    "failed": pgettext_lazy("event", "Failed"),
    "stopped": pgettext_lazy("event", "Stopped"),
    "restarted": pgettext_lazy("event", "Restarted automatically"),
    "restarts_used_up": pgettext_lazy("event", "Failed for good, restarts used up"),
    "hang_suspected": pgettext_lazy("event", "Suspected to hang"),
    "hang": pgettext_lazy("event", "Hung"),
    "env_check_failed": pgettext_lazy("event", "Environment check failed"),
    "node_fault": pgettext_lazy("event", "Node failed or drained"),
    "queued_too_long": pgettext_lazy("event", "Waits longer than"),
    "deploying_too_long": pgettext_lazy("event", "Deploys longer than"),
    "running_too_long": pgettext_lazy("event", "Runs longer than"),
    "node_down": pgettext_lazy("event", "Node down"),
    "node_drained": pgettext_lazy("event", "Node drained"),
    "prepaid_ending": pgettext_lazy("event", "Prepaid period ends soon"),
    "queue_stuck": pgettext_lazy("event", "Queue stuck"),
    "engine_late": pgettext_lazy("event", "Engine late"),
    "disk_nearly_full": pgettext_lazy("event", "Disk nearly full"),
    TEST: pgettext_lazy("event", "Test"),
    CHANNEL_DISABLED: pgettext_lazy("event", "Channel disabled"),
    CHANNEL_UNSHARED: pgettext_lazy("event", "Channel not shared any more"),
    CHANNEL_GONE: pgettext_lazy("event", "Channel deleted"),
}

WITH_MINUTES: dict[str, Promise] = {
    "queued_too_long": pgettext_lazy("event", "Waits longer than %(n)s min"),
    "deploying_too_long": pgettext_lazy("event", "Deploys longer than %(n)s min"),
    "running_too_long": pgettext_lazy("event", "Runs longer than %(n)s min"),
    "queue_stuck": pgettext_lazy("event", "Queue stuck for more than %(n)s min"),
    "engine_late": pgettext_lazy("event", "Engine late for more than %(n)s min"),
}


def event_label(code: str, minutes: int | None = None) -> str:
    """With its limit where there is one; the code itself where it is of a newer console."""
    if minutes is not None and code in WITH_MINUTES:
        return str(WITH_MINUTES[code]) % {"n": minutes}
    return str(EVENT_LABELS.get(code, code))
