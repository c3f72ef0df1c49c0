"""What the variables hold that the platform sets."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from jobs.texts.filling import kept_by_language

INJECTED = {
    "TRAINYARD_JOB_ID": gettext_lazy("id of the job"),
    "TRAINYARD_ATTEMPT": gettext_lazy("which run of the job this is, from 1"),
    "TRAINYARD_WORKER": gettext_lazy("number of the Worker, from 0"),
    "CUDA_VISIBLE_DEVICES": gettext_lazy("numbers of its GPUs on the node"),
    "MASTER_ADDR": gettext_lazy("address of Worker 0"),
    "MASTER_PORT": gettext_lazy("a port that is free there"),
    "WORLD_SIZE": gettext_lazy("number of Workers, not of processes"),
    "RANK": gettext_lazy("number of the Worker, from 0"),
}


@kept_by_language
def injected_text(name: str) -> str:
    """What the variable holds; empty if nothing is known of it (a test looks for those)."""
    return str(INJECTED.get(name, ""))
