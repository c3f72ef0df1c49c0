"""Names of events, in the reader's language."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import pgettext_lazy

from alerts.rules import CHANNEL_DISABLED, TEST

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
    "queued_too_long": pgettext_lazy("event", "Waits too long in the queue"),
    "deploying_too_long": pgettext_lazy("event", "Deploys too long"),
    "running_too_long": pgettext_lazy("event", "Runs too long"),
    "node_down": pgettext_lazy("event", "Node down"),
    "node_drained": pgettext_lazy("event", "Node drained"),
    "prepaid_ending": pgettext_lazy("event", "Prepaid period ends soon"),
    "queue_stuck": pgettext_lazy("event", "Queue stuck"),
    "engine_late": pgettext_lazy("event", "Engine late"),
    "disk_nearly_full": pgettext_lazy("event", "Disk nearly full"),
    TEST: pgettext_lazy("event", "Test"),
    CHANNEL_DISABLED: pgettext_lazy("event", "Channel disabled"),
}


def event_label(code: str) -> str:
    """The code itself where it is of a newer console."""
    return str(EVENT_LABELS.get(code, code))
