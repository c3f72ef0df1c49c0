"""Words for states, steps, events and lengths of time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy

from jobs.models import STATE_LABELS
from jobs.querysets import MOST_COUNTED
from jobs.states import DeployStep, Framework, State
from jobs.texts.env_check import failure_data
from jobs.texts.filling import filled
from jobs.texts.reasons import killed_text, names_text, reason_text
from jobs.texts.steps import STEP_LABELS as STEP_LABELS
from jobs.timeline import Phase

FRAMEWORK_LABELS = {
    Framework.SINGLE: pgettext_lazy("framework", "Single machine"),
    Framework.PYTORCH_DDP: "PyTorch DDP",
}

PRIORITY_LABELS = {
    "high": pgettext_lazy("priority", "high"),
    "normal": pgettext_lazy("priority", "normal"),
    "low": pgettext_lazy("priority", "low"),
}

START_POLICY_LABELS = {
    "queue": pgettext_lazy("start policy", "wait in the queue"),
    "now": pgettext_lazy("start policy", "do not create the job"),
}
HANG_ACTION_LABELS = {
    "": pgettext_lazy("hang action", "restart if automatic restart is on, else notify"),
    "notify": pgettext_lazy("hang action", "notify"),
    "restart": pgettext_lazy("hang action", "restart"),
    "fail": pgettext_lazy("hang action", "end the job as failed"),
}
PHASE_LABELS = {
    Phase.WAIT: pgettext_lazy("timeline", "queue"),
    Phase.DEPLOY: pgettext_lazy("timeline", "deploy"),
    Phase.RUN: pgettext_lazy("timeline", "run"),
    Phase.LEAVE: pgettext_lazy("timeline", "leave the node"),
    Phase.STOP: pgettext_lazy("timeline", "stop"),
}

HANG_LABELS = {
    "suspected": pgettext_lazy("state", "suspected to hang"),
    "hung": pgettext_lazy("state", "hung"),
}
HANG_DOES = {
    "notify": gettext_lazy("the job goes on"),
    "restart": gettext_lazy("this run is being ended, to be restarted"),
    "fail": gettext_lazy("the job is being ended as failed"),
}

FATES = {
    "again": gettext_lazy("has not started: it is queued again"),
    "restart": gettext_lazy("restarts on other nodes, without spending a restart"),
    "fail": gettext_lazy("fails: it may not be restarted"),
    "": gettext_lazy("is being ended already"),
}

MINUTE, HOUR, DAY = 60, 3600, 86400

EVENTS = {
    "created": gettext_lazy("created"),
    "deploying": gettext_lazy("GPUs allocated, deploying"),
    "running": gettext_lazy("all Workers run the start command"),
    "queued": gettext_lazy("queued again"),
    "succeeded": gettext_lazy("succeeded"),
    "failed": gettext_lazy("failed"),
    "stopped": gettext_lazy("stopped"),
    "restarted": gettext_lazy("restart %(restart)s of %(most)s, after a pause"),
    "node_lost": gettext_lazy("platform fault on %(nodes)s: its Workers are being ended"),
    "drained": gettext_lazy("an administrator drained %(nodes)s: its Workers are being ended"),
    "requeued_counted": gettext_lazy(
        "back in the queue, without spending a restart; after lost or drained nodes %(restart)s of %(most)s"
    ),
    "requeued": gettext_lazy("back in the queue, without spending a restart"),
    "priority_changed": gettext_lazy("priority changed from %(old)s to %(new)s"),
    "alerts_changed": gettext_lazy("alerts changed"),
    "hang_suspected": gettext_lazy("suspected to hang: no output for %(seconds)s s; the job goes on"),
    "hang": gettext_lazy("hangs: no output for %(seconds)s s; %(does)s"),
    "hang_idle": gettext_lazy("hangs: no output for %(seconds)s s, and idle for %(idle)s s; %(does)s"),
    "hang_over": gettext_lazy("there is output again"),
    "stop_requested": gettext_lazy("stop requested"),
    "files_removed": gettext_lazy("files of the failed run removed"),
    "files_gave_room": gettext_lazy("files of the failed run removed: room was needed"),
    "start_delayed": gettext_lazy("the start is delayed"),
    "env_check_failed": gettext_lazy(
        "environment check failed on node %(node)s (Worker %(rank)s), at %(item)s: %(what)s"
    ),
    "worker_failed": gettext_lazy("Worker %(rank)s failed first; the others are being ended"),
    "worker_failed_alone": gettext_lazy("its Worker failed"),
    "stopped_by_user": gettext_lazy("stopped on request"),
}


def event_text(code: str, data: Mapping[str, Any]) -> str:
    """What happened, with the reason where there is one."""
    reason = data.get("reason")
    if code == "stopped" and reason and reason["code"] == "stopped_by_user":
        return _stopped_text(reason["data"])
    text = filled(EVENTS, *event_sentence(code, data))
    if reason and code != "node_fault":
        text = _with_reason(text, reason_text(reason["code"], reason["data"]))
    return " ".join(filter(None, [text, used_up_text(data)]))


def end_text(data: Mapping[str, Any]) -> str:
    """Why a job ended, without what it became; empty where there is no reason."""
    reason = data.get("reason")
    why = [reason_text(reason["code"], reason["data"])] if reason else []
    return " ".join(filter(None, [*why, used_up_text(data)]))


def used_up_text(data: Mapping[str, Any]) -> str:
    """That it may not be restarted any more; empty if that was not the matter."""
    used_up = {
        _restarts_text: data.get("restarts_used_up"),
        _platform_restarts_text: data.get("platform_restarts_used_up"),
    }
    return " ".join(sentence(times) for sentence, times in used_up.items() if times)


def event_sentence(code: str, data: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Which of the sentences is meant, and what goes into it."""
    if code == "hang":
        return "hang_idle" if "idle" in data else code, {**data, "does": HANG_DOES[data["action"]]}
    if code == "requeued" and "restart" in data:
        return "requeued_counted", data
    if code == "priority_changed":
        return code, {name: PRIORITY_LABELS[data[name]] for name in ("old", "new")}
    if code == "env_check_failed":
        return code, failure_data(data)
    if code == "node_fault":
        return data["reason"]["code"], {"nodes": names_text(data["reason"]["data"]["nodes"])}
    if code == "worker_failed" and data.get("workers") == 1:
        return "worker_failed_alone", data
    return code, data


def _restarts_text(restarts: int) -> str:
    return _("All restarts were used up: %(n)s of %(n)s.") % {"n": restarts}


def _platform_restarts_text(faults: int) -> str:
    return _("It was restarted after lost or drained nodes %(n)s times, which is the most.") % {"n": faults}


def _with_reason(event: str, reason: str) -> str:
    return pgettext("what happened and why", "%(event)s: %(reason)s") % {"event": event, "reason": reason}


def _stopped_text(data: Mapping[str, Any]) -> str:
    """Who asked for it stands beside it."""
    text = str(EVENTS["stopped_by_user"])
    if "killed" not in data:
        return text
    return _with_reason(text, killed_text(data["killed"]))


def state_label(state: str, stopping: bool = False, leaving: bool = False) -> str:
    if stopping:
        return _("stopping")
    return pgettext("state", "leaving its node") if leaving else str(STATE_LABELS[State(state)])


def step_label(step: str) -> str:
    return str(STEP_LABELS[DeployStep(step)]) if step else ""


def count_text(jobs: int) -> str:
    """A number of jobs that was counted up to the bound."""
    return f"{MOST_COUNTED - 1}+" if jobs >= MOST_COUNTED else str(jobs)


def duration_text(seconds: int) -> str:
    """A length of time by its two largest units."""
    forms = duration_forms()
    if seconds < MINUTE:
        return forms["seconds"] % {"s": seconds}
    if seconds < HOUR:
        return forms["minutes"] % {"m": seconds // MINUTE, "s": seconds % MINUTE}
    if seconds < DAY:
        return forms["hours"] % {"h": seconds // HOUR, "m": seconds % HOUR // MINUTE}
    return forms["days"] % {"d": seconds // DAY, "h": seconds % DAY // HOUR}


def duration_forms() -> dict[str, str]:
    """How lengths of time are written, by their largest unit: also for the page that counts on."""
    return {
        "seconds": pgettext("duration", "%(s)s s"),
        "minutes": pgettext("duration", "%(m)s m %(s)s s"),
        "hours": pgettext("duration", "%(h)s h %(m)s m"),
        "days": pgettext("duration", "%(d)s d %(h)s h"),
    }
