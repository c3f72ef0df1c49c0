"""Sentences of second looks at a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy, ngettext

from jobs.texts.filling import filled, gpus_text

DID_YOU_MEAN = gettext_lazy("%(text)s Did you mean %(near)s?")

ADVICE = {
    "path_lost": gettext_lazy(
        "%(path)s is on no mounted volume: it holds only what the image brings, "
        "and what is written there is lost when the job ends."
    ),
    "path_not_mounted": gettext_lazy("%(path)s is on no mounted volume."),
    "script_in_workspace": gettext_lazy(
        "%(path)s is looked for in /workspace, which is empty at the start. "
        "Put “cd %(folder)s” before it, or write the whole path."
    ),
    "path_read_only": gettext_lazy("%(path)s can only be read; write to a mounted volume that is writable."),
    "public_data_off": gettext_lazy("%(path)s is there only if public data is on."),
    "nproc_not_gpus": gettext_lazy("Starts %(processes)s, but each Worker has %(gpus)s."),
    "processes_not_gpus": gettext_lazy(
        "Starts %(processes)s in all Workers together, but the job has %(gpus)s."
    ),
    "world_size_as_processes": gettext_lazy(
        "WORLD_SIZE is the number of Workers, not of processes; here it should be %(gpus)s."
    ),
    "nnodes_not_workers": gettext_lazy(
        "Waits for %(nodes)s, but the number of Workers is %(workers)s. $WORLD_SIZE is always right."
    ),
    "launcher_alone": gettext_lazy(
        "Each Worker trains by itself here, although there are %(workers)s: "
        "the launcher is not told to span them."
    ),
    "launcher_incomplete": gettext_lazy(
        "The %(workers)s Workers will not find each other: the launcher also needs %(missing)s."
    ),
    "launcher_needs_framework": gettext_lazy(
        "torchrun over %(workers)s Workers needs their ranks and a meeting point, "
        "which the platform gives only with the framework PyTorch DDP."
    ),
    "node_rank_fixed": gettext_lazy(
        "All Workers would have the node rank %(given)s; $RANK is different in each."
    ),
    "master_addr_fixed": gettext_lazy(
        "“%(given)s” is written out, but which Worker is the first is only known when the job is placed: "
        "take $MASTER_ADDR."
    ),
    "master_port_fixed": gettext_lazy(
        "The port %(given)s may be in use by another job: take $MASTER_PORT, which the platform keeps free."
    ),
    "no_launcher": gettext_lazy(
        "python starts one process, and each Worker has %(gpus)s. Unless the script starts the others "
        "itself, use torchrun."
    ),
    "secret_in_clear": gettext_lazy(
        "%(name)s looks like a password or token, and the whole team can read it here. "
        "Enter it as a private variable."
    ),
    "variable_twice": gettext_lazy(
        "%(name)s is set on this page and again in the start command, which wins. Keep one of them."
    ),
    "injected_overwritten": gettext_lazy(
        "The platform sets %(name)s for each Worker; this line replaces it with a value of its own."
    ),
    "slow_first_step": gettext_lazy(
        "All GPUs are held and idle while this runs before the training: %(step)s. "
        "Do it beforehand, and keep the result on a volume or in the image."
    ),
    "no_resume": gettext_lazy(
        "Nothing in command and variables speaks of a checkpoint. "
        "After a restart or an interruption the script begins from nothing "
        "unless it loads its last one itself."
    ),
    "one_file_for_all": gettext_lazy(
        "Every Worker writes %(path)s anew, over what the others wrote. Put %(rank)s into the name."
    ),
}

KEPT = {  # what is lost, and can be read for some time after a failure
    "path_lost": gettext_lazy(
        "%(path)s is on no mounted volume: it holds only what the image brings, and what is written there is "
        "lost when the job ends, but kept for %(span)s after a failure."
    ),
    "no_mounts": gettext_lazy(
        "No volume is mounted: whatever the job writes is lost when it ends, "
        "but kept for %(span)s after a failure."
    ),
}

_SIZES = frozenset({"nproc_not_gpus", "processes_not_gpus", "no_launcher"})  # elsewhere it is to be written


def advice_text(code: str, data: Mapping[str, Any]) -> str:
    """The sentence, its sizes and counts in the number they have."""
    told = dict(data)
    if code in _SIZES:
        told["gpus"] = gpus_text(data["gpus"])
        if "given" in data:
            given = data["given"]
            told["processes"] = ngettext("%(n)s process", "%(n)s processes", given) % {"n": given}
    if code == "nnodes_not_workers":
        told["nodes"] = ngettext("%(n)s node", "%(n)s nodes", data["given"]) % {"n": data["given"]}
    return filled(ADVICE, code, told)
