"""Sentences of where the trouble of a job may come from."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from jobs.findings import Reason
from jobs.texts.filling import gpus_text

TITLES = {
    "resources": gettext_lazy("Resources: pool, spec and queue"),
    "image": gettext_lazy("Image"),
    "start": gettext_lazy("Before the first batch: paths, variables, packages"),
    "hidden": gettext_lazy("It shows success, but the training failed"),
    "network": gettext_lazy("Several Workers, RDMA"),
    "results": gettext_lazy("The results are not there"),
    "hang": gettext_lazy("It hung: where its processes stood"),
}
LATE_TITLES = {"start": gettext_lazy("Paths, variables, packages")}
HELP = {  # places of the page "troubleshooting"
    "resources": "cannot-choose",
    "image": "image-not-found",
    "start": "before-first-batch",
    "hidden": "shows-success",
    "network": "several-nodes",
    "results": "no-results",
    "hang": "hung",
}
HAS_GPUS = gettext_lazy("It has its resources: %(gpus)s.")
EXIT_CODES = {
    126: gettext_lazy("126: bash found the program and could not run it: no permission, or no program."),
    127: gettext_lazy("127: bash did not find a program. Is it in the image, and is its path right?"),
    137: gettext_lazy("137: a program that the command ran was ended by signal 9."),
    139: gettext_lazy("139: a program that the command ran was ended by signal 11, a memory fault."),
    143: gettext_lazy("143: a program that the command ran was ended by signal 15."),
}


def cause_title(cause: str, *, late: bool = False) -> str:
    """`late`: of a job that ran for longer than its first batch takes."""
    return str(LATE_TITLES.get(cause, TITLES[cause]) if late else TITLES[cause])


def has_gpus_text(gpus: int) -> str:
    return str(HAS_GPUS) % {"gpus": gpus_text(gpus)}


def exit_text(reason: Reason | None) -> str:
    """What is known of an exit code that bash gives of its own; empty for those that a program chose."""
    if reason is None or reason.code != "exit_code":
        return ""
    return str(EXIT_CODES.get(reason.data.get("exit_code", 0), ""))
