"""Why a job waits, failed or was stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, ngettext_lazy

from alerts.moments import moment_text
from jobs.estimate import Estimate
from jobs.states import DeployStep
from jobs.texts.env_check import failure_data
from jobs.texts.filling import filled
from jobs.texts.filling import gpus_text as gpus_text
from jobs.texts.findings import FINDINGS
from jobs.texts.steps import STEP_LABELS

LAST_SIGNAL = 64
SHOWN_NAMES = 5

REASONS = {
    "pool_paused": gettext_lazy("The resource pool is paused."),
    "behind_head": gettext_lazy(
        "Waits behind the first job of the queue, which has waited so long that nobody may start before it."
    ),
    "not_granted": gettext_lazy("Your team may not use this resource pool any more."),
    "quota": ngettext_lazy(
        "Your team holds %(held)s of at most %(limit)s GPU of this pool; this job wants %(wanted)s more.",
        "Your team holds %(held)s of at most %(limit)s GPUs of this pool; this job wants %(wanted)s more.",
        "limit",
    ),
    "never_fits": FINDINGS["never_fits"],
    "out_of_service": ngettext_lazy(
        "Too many nodes are out of service: this needs room for %(gpus)s in %(workers)s Worker.",
        "Too many nodes are out of service: this needs room for %(gpus)s in %(workers)s Workers.",
        "workers",
    ),
    "avoided": gettext_lazy("There is room only on nodes that it avoids after a fault there: %(nodes)s."),
    "backing_off": gettext_lazy("It is restarted after a pause, not before %(until)s."),
    "stopped_by_user": gettext_lazy("Stopped on request."),
    "replaced": gettext_lazy("Taken out of the queue: a modified job took its place."),
    "queue_timeout": gettext_lazy("It has waited for its maximum waiting time of %(minutes)s min."),
    "hung": gettext_lazy("It hung: no Worker had written anything for %(seconds)s s."),
    "hung_idle": gettext_lazy(
        "It hung: no Worker had written anything for %(seconds)s s, and they had been idle for %(idle)s s."
    ),
    "max_runtime": gettext_lazy("It has run for its maximum running time of %(minutes)s min."),
    "exit_code": gettext_lazy("Worker %(rank)s failed first, with exit code %(exit_code)s."),
    "exit_code_of_signal": gettext_lazy(
        "Worker %(rank)s failed first, with exit code %(exit_code)s: "
        "a program of the command was ended by signal %(signal)s."
    ),
    "signal": gettext_lazy(
        "Worker %(rank)s failed first: it was ended by signal %(signal)s (exit code %(shell_code)s)."
    ),
    "drained": gettext_lazy("It had to leave %(nodes)s: an administrator drained the node."),
    "node_lost": gettext_lazy("The machine of %(nodes)s cannot be used any more."),
    "worker_lost": gettext_lazy(
        "Worker %(rank)s was lost: what supervised it is gone, so nobody knows how it ended."
    ),
    "ended_by_platform": gettext_lazy("The platform ended the Workers."),
    "mount_missing": gettext_lazy(
        "Worker %(rank)s could not start: the folder behind %(path)s does not exist."
    ),
    "mount_no_folder": gettext_lazy(
        "Worker %(rank)s could not start: what lies behind %(path)s is a file, not a folder."
    ),
    "mount_denied": gettext_lazy(
        "Worker %(rank)s could not start: %(path)s cannot be mounted on this machine (%(detail)s)."
    ),
    "image_missing": gettext_lazy("Worker %(rank)s could not start: the image %(image)s is not there."),
    "sandbox_failed": gettext_lazy("Worker %(rank)s could not start: the sandbox failed (%(detail)s)."),
    "disk_full": gettext_lazy("Worker %(rank)s was ended: it wrote more than the system disk holds."),
    "env_check": gettext_lazy(
        "The environment check failed on node %(node)s (Worker %(rank)s), at %(item)s: %(what)s"
    ),
    "deploy_timeout": gettext_lazy(
        "It could not be deployed: the step “%(step)s” had not ended after %(seconds)s s."
    ),
    "out_of_memory": gettext_lazy(
        "Worker %(rank)s failed first, out of memory: it reached its limit of %(limit_gib)s GiB, and the "
        "machine ended one of its processes."
    ),
    "engine_unavailable": gettext_lazy(
        "The machine could not start it; administrators find the cause in the worker's log."
    ),
    "private_value_unreadable": gettext_lazy(
        "A private variable cannot be decrypted with the console's keys; enter it anew."
    ),
}

# Where the Worker that failed was the only one.
ALONE = {
    "exit_code": gettext_lazy("The start command ended with exit code %(exit_code)s."),
    "exit_code_of_signal": gettext_lazy(
        "The start command ended with exit code %(exit_code)s: "
        "a program of it was ended by signal %(signal)s."
    ),
    "signal": gettext_lazy("It was ended by signal %(signal)s (exit code %(shell_code)s)."),
    "out_of_memory": gettext_lazy(
        "Out of memory: it reached its limit of %(limit_gib)s GiB, "
        "and the machine ended one of its processes."
    ),
}


def reason_text(code: str, data: Mapping[str, Any]) -> str:
    """Why a job waits, failed or was stopped, and what had to be killed for that."""
    text = capacity_text(data) if code == "capacity" else _reason_sentence(code, data)
    return f"{text} {killed_text(data['killed'])}" if "killed" in data else text


def _reason_sentence(code: str, data: Mapping[str, Any]) -> str:
    if code == "backing_off":
        data = {"until": moment_text(datetime.fromisoformat(data["until"]))}
    if code == "hung" and "idle" in data:
        code = "hung_idle"
    if code in ("avoided", "drained", "node_lost"):
        data = {"nodes": names_text(data["nodes"])}
    if code == "env_check":
        data = failure_data(data)
    if code == "deploy_timeout":
        data = {"step": STEP_LABELS[DeployStep(data["step"])], "seconds": f"{data['seconds']:g}"}
    if code == "signal":
        data = {**data, "shell_code": 128 + data["signal"]}
    if code == "exit_code" and 128 < data["exit_code"] <= 128 + LAST_SIGNAL:
        code, data = "exit_code_of_signal", {**data, "signal": data["exit_code"] - 128}
    alone = data.get("workers") == 1 and code in ALONE
    return filled(ALONE if alone else REASONS, code, data)


def killed_text(killed: Mapping[str, Any]) -> str:
    """Of Workers that did not end when they were asked to."""
    workers = killed["workers"]
    text = ngettext(
        "%(n)s Worker did not end within %(seconds)s s of being asked: killed.",
        "%(n)s Workers did not end within %(seconds)s s of being asked: killed.",
        workers,
    )
    return text % {"n": workers, "seconds": killed["seconds"]}


def names_text(names: Sequence[str]) -> str:
    """The first of the names, and how many more there are."""
    more = len(names) - SHOWN_NAMES
    shown = ", ".join(names[:SHOWN_NAMES])
    return _("%(names)s and %(n)s more") % {"names": shown, "n": more} if more > 0 else shown


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


def would_wait_text(judged: Estimate) -> str:
    """Why nothing was created of a request that is not to wait."""
    place = judged.queue.position if judged.queue else 0
    reason = reason_text(judged.reason.code, judged.reason.data) if judged.reason else ""
    text = _(
        "Nothing was created: this would queue at place %(n)s, "
        "and it is not to be created if it cannot start at once. %(reason)s"
    )
    return text % {"n": place, "reason": reason}
