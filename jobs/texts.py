"""Sentences for codes, in the reader's language. The only place in `jobs` where sentences are made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext, pgettext_lazy

from jobs.estimate import Estimate
from jobs.models import STATE_LABELS
from jobs.querysets import MOST_COUNTED
from jobs.states import DeployStep, Framework, State
from jobs.timeline import Phase

STEP_LABELS = {
    DeployStep.ALLOCATE: gettext_lazy("allocate resources"),
    DeployStep.STORAGE: gettext_lazy("prepare storage"),
    DeployStep.INITIALIZE: gettext_lazy("initialize"),
    DeployStep.PULL_IMAGE: gettext_lazy("pull image"),
}
FRAMEWORK_LABELS = {
    Framework.SINGLE: pgettext_lazy("framework", "Single machine"),
    Framework.PYTORCH_DDP: "PyTorch DDP",
}
PRIORITY_LABELS = {
    "high": pgettext_lazy("priority", "high"),
    "normal": pgettext_lazy("priority", "normal"),
    "low": pgettext_lazy("priority", "low"),
}

PHASE_LABELS = {
    Phase.WAIT: pgettext_lazy("timeline", "queue"),
    Phase.DEPLOY: pgettext_lazy("timeline", "deploy"),
    Phase.RUN: pgettext_lazy("timeline", "run"),
    Phase.STOP: pgettext_lazy("timeline", "stop"),
}

LAST_SIGNAL = 64
MINUTE, HOUR, DAY = 60, 3600, 86400

FINDINGS = {
    "required": gettext_lazy("This field is required."),
    "invalid_choice": gettext_lazy("This is not one of the choices."),
    "out_of_range": gettext_lazy("Must be from %(least)s to %(most)s."),
    "too_many": gettext_lazy("At most %(most)s entries."),
    "nul_character": gettext_lazy("A NUL character cannot be used here."),
    "team_unknown": gettext_lazy("You are not a member of this team."),
    "pool_unknown": gettext_lazy("There is no such resource pool for this team."),
    "pool_without_nodes": gettext_lazy("No node flavor has been set up for this resource pool."),
    "spec_unknown": gettext_lazy("This Worker spec does not belong to the resource pool, or was retired."),
    "flavor_unknown": gettext_lazy("This node flavor does not belong to the resource pool."),
    "only_with_custom_gpus": gettext_lazy("Only used with a custom GPU count."),
    "excluded_by_custom_gpus": gettext_lazy("Cannot be given together with a custom GPU count."),
    "never_fits": gettext_lazy(
        "Can never run here: the pool has not enough nodes for %(workers)s Workers (%(total_gpus)s GPUs)."
    ),
    "over_quota": gettext_lazy(
        "This can never run here: it wants %(wanted)s GPUs, and your team may hold %(limit)s in this pool."
    ),
    "public_data_not_offered": gettext_lazy("The zone %(zone)s offers no public data."),
    "rdma_needs_network": gettext_lazy(
        "RDMA needs a RoCE or IB training network, which this spec does not have."
    ),
    "rdma_needs_full_workers": gettext_lazy("RDMA needs 8 GPUs in every Worker."),
    "image_unknown": gettext_lazy("There is no such image for this team."),
    "image_not_for_jobs": gettext_lazy("The available services of this image do not include jobs."),
    "image_in_other_zone": gettext_lazy(
        "This image is not available in the zone %(zone)s of the resource pool."
    ),
    "unequal_workers": gettext_lazy(
        "The last Worker has fewer GPUs than the others: make sure that the script copes with that."
    ),
    "single_with_several_workers": gettext_lazy(
        "Each Worker runs the same command by itself and gets no rank. "
        "Choose a framework if they are to work together."
    ),
    "env_name": gettext_lazy(
        "“%(name)s” is no variable name: letters, digits and _, not starting with a digit."
    ),
    "env_injected": gettext_lazy("%(name)s is set by the platform and cannot be given here."),
    "env_of_bash": gettext_lazy("bash sets %(name)s itself: the start command will see another value."),
    "control_character": gettext_lazy("Line breaks and other control characters cannot be used here."),
    "env_duplicate": gettext_lazy("%(name)s is given twice."),
    "env_not_an_assignment": gettext_lazy("“%(piece)s” is not of the form NAME=value."),
    "env_fullwidth_semicolon": gettext_lazy(
        "“%(piece)s” contains the full-width sign ；. Separate variables by ; or quote the value."
    ),
    "volume_unknown": gettext_lazy("There is no such volume for this team."),
    "volume_in_other_zone": gettext_lazy("This volume is not in the zone %(zone)s of the resource pool."),
    "mount_path_absolute": gettext_lazy("A mount path is absolute: it starts with / and has no line breaks."),
    "mount_path_dots": gettext_lazy("A mount path must not contain “..”."),
    "mount_path_reserved": gettext_lazy("%(path)s belongs to the system; mount below /mnt, for example."),
    "mount_path_duplicate": gettext_lazy("%(path)s is already the mount path of row %(other)s."),
    "mount_path_nested": gettext_lazy(
        "%(path)s and %(other)s lie within each other; mount them beside each other."
    ),
    "path_too_long": gettext_lazy(
        "Too long: at most %(most)s bytes, and %(most_name)s bytes between two slashes."
    ),
    "no_mounts": gettext_lazy("No volume is mounted: whatever the job writes is lost when it ends."),
    "priority_needs_right": gettext_lazy("Your team admin has not granted you high priority."),
}
TOO_LONG = {
    "bytes": gettext_lazy("Too long: at most %(most)s bytes."),
    "characters": gettext_lazy("Too long: at most %(most)s characters."),
}

REASONS = {
    "pool_paused": gettext_lazy("The resource pool is paused."),
    "behind_head": gettext_lazy(
        "Waits behind the first job of the queue, which must not be overtaken any longer."
    ),
    "not_granted": gettext_lazy("Your team may not use this resource pool any more."),
    "quota": gettext_lazy(
        "Your team holds %(held)s of at most %(limit)s GPUs of this pool; this job wants %(wanted)s more."
    ),
    "never_fits": FINDINGS["never_fits"],
    "out_of_service": gettext_lazy(
        "Too many nodes are out of service: this needs room for %(total_gpus)s GPUs in %(workers)s Workers."
    ),
    "stopped_by_user": gettext_lazy("Stopped on request."),
    "exit_code": gettext_lazy("Worker %(rank)s failed first, with exit code %(exit_code)s."),
    "exit_code_of_signal": gettext_lazy(
        "Worker %(rank)s failed first, with exit code %(exit_code)s: "
        "a program of the command was ended by signal %(signal)s."
    ),
    "signal": gettext_lazy(
        "Worker %(rank)s failed first: it was ended by signal %(signal)s (exit code %(shell_code)s)."
    ),
    "worker_lost": gettext_lazy(
        "Worker %(rank)s was lost: what supervised it is gone, so nobody knows how it ended."
    ),
    "ended_by_platform": gettext_lazy("The platform ended the Workers."),
    "mount_missing": gettext_lazy(
        "Worker %(rank)s could not start: the folder behind %(path)s does not exist."
    ),
    "mount_denied": gettext_lazy(
        "Worker %(rank)s could not start: %(path)s cannot be mounted on this machine (%(detail)s)."
    ),
    "image_missing": gettext_lazy("Worker %(rank)s could not start: the image %(image)s is not there."),
    "sandbox_failed": gettext_lazy("Worker %(rank)s could not start: the sandbox failed (%(detail)s)."),
    "disk_full": gettext_lazy("Worker %(rank)s was ended: it wrote more than the system disk holds."),
    "engine_unavailable": gettext_lazy(
        "The machine could not start it; administrators find the cause in the worker's log."
    ),
    "private_value_unreadable": gettext_lazy(
        "A private variable cannot be decrypted with the console's keys; enter it anew."
    ),
}

EVENTS = {
    "created": gettext_lazy("created"),
    "deploying": gettext_lazy("GPUs allocated, deploying"),
    "running": gettext_lazy("all Workers run the start command"),
    "queued": gettext_lazy("queued again"),
    "succeeded": gettext_lazy("succeeded"),
    "failed": gettext_lazy("failed"),
    "stopped": gettext_lazy("stopped"),
    "stop_requested": gettext_lazy("stop requested"),
    "start_delayed": gettext_lazy("the start is delayed"),
    "worker_failed": gettext_lazy("Worker %(rank)s failed first; the others are being ended"),
}


def finding_text(code: str, data: Mapping[str, Any]) -> str:
    """The sentence of a check result; the code itself if it has none (a test looks for those)."""
    if code == "too_long":
        return str(TOO_LONG[data["unit"]]) % data
    return _filled(FINDINGS, code, data)


def reason_text(code: str, data: Mapping[str, Any]) -> str:
    """Why a job waits, failed or was stopped."""
    if code == "capacity":
        return capacity_text(data)
    if code == "signal":
        data = {**data, "shell_code": 128 + data["signal"]}
    if code == "exit_code" and 128 < data["exit_code"] <= 128 + LAST_SIGNAL:
        code, data = "exit_code_of_signal", {**data, "signal": data["exit_code"] - 128}
    return _filled(REASONS, code, data)


def capacity_text(data: Mapping[str, Any]) -> str:
    """*Cannot now*, with the numbers that tell why idle GPUs do not help."""
    workers = ngettext("%(n)s Worker", "%(n)s Workers", data["workers"]) % {"n": data["workers"]}
    size = gpus_text(data["worker_gpus"])
    if rest := data["total_gpus"] % data["worker_gpus"]:
        workers = ngettext("%(n)s Worker", "%(n)s Workers", data["workers"] - 1) % {"n": data["workers"] - 1}
        size = _("%(size)s and one of %(rest)s") % {"size": size, "rest": gpus_text(rest)}
    if not data["largest_block"]:
        return _("Needs room for %(wanted)s of %(size)s; no GPU is left now.") % {
            "wanted": workers,
            "size": size,
        }
    text = _(
        "Needs room for %(wanted)s of %(size)s; there is room for %(room)s now, "
        "the largest free block on one node is %(block)s."
    )
    block = gpus_text(data["largest_block"])
    return text % {"wanted": workers, "size": size, "room": data["room"], "block": block}


def promise_broken_text(judged: Estimate, *, shown: bool) -> str:
    """Why nothing was created though no rule was broken: it would do worse than its sender was shown."""
    place = judged.queue.position if judged.queue else 0
    reason = reason_text(judged.reason.code, judged.reason.data) if judged.reason else ""
    if shown:
        text = _("Things have changed: this would now queue at place %(n)s. %(reason)s")
    else:
        text = _("This would not start at once but queue at place %(n)s. %(reason)s")
    told = text % {"n": place, "reason": reason}
    return f"{told} " + _("Nothing was created yet; press the button again if that is all right.")


def count_text(jobs: int) -> str:
    """A number of jobs that was counted up to the bound."""
    return f"{MOST_COUNTED - 1}+" if jobs >= MOST_COUNTED else str(jobs)


def gpus_text(gpus: int) -> str:
    return ngettext("%(n)s GPU", "%(n)s GPUs", gpus) % {"n": gpus}


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


def event_text(code: str, data: Mapping[str, Any]) -> str:
    """What happened, with the reason where there is one."""
    text = _filled(EVENTS, code, data)
    reason = data.get("reason")
    if not reason:
        return text
    told = {"event": text, "reason": reason_text(reason["code"], reason["data"])}
    return pgettext("what happened and why", "%(event)s: %(reason)s") % told


def state_label(state: str, stopping: bool = False) -> str:
    return _("stopping") if stopping else str(STATE_LABELS[State(state)])


def step_label(step: str) -> str:
    return str(STEP_LABELS[DeployStep(step)]) if step else ""


def _filled(sentences: Mapping[str, Any], code: str, data: Mapping[str, Any]) -> str:
    return str(sentences[code]) % data if code in sentences else code
