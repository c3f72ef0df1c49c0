"""Sentences of the list of what to make sure of before a job is created."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy, ngettext, pgettext, pgettext_lazy

from jobs.states import Framework
from jobs.texts.filling import filled, kept_by_language
from jobs.texts.reasons import gpus_text
from jobs.texts.states import FRAMEWORK_LABELS

TITLES = {
    "resources": pgettext_lazy("before creating", "Resources are there"),
    "workers": pgettext_lazy("before creating", "Worker count and framework fit"),
    "image": pgettext_lazy("before creating", "The image can be used here"),
    "code": pgettext_lazy("before creating", "Code and data can be reached"),
    "outputs": pgettext_lazy("before creating", "Results stay"),
    "failure": pgettext_lazy("before creating", "A failure shows"),
    "distributed": pgettext_lazy("before creating", "The Workers find each other"),
    "resume": pgettext_lazy("before creating", "It can go on after an interruption"),
    "trial": pgettext_lazy("before creating", "It has been tried"),
}

POINTS = {
    "no_spec": gettext_lazy("Choose a Worker spec first."),
    "no_image": gettext_lazy("Choose an image first."),
    "no_command": gettext_lazy("Fill in the start command first."),
    "depends": gettext_lazy("Depends on what is mounted below."),
    "starts_now": gettext_lazy("%(gpus)s can start at once."),
    "queues": gettext_lazy(
        "The job would wait at place %(place)s. Fewer Workers or a smaller spec may start sooner."
    ),
    "one_worker": gettext_lazy("One Worker: nothing to divide."),
    "together": gettext_lazy("%(workers)s, %(framework)s."),
    "offered": gettext_lazy("%(image)s is offered here. Packages missing in it show in a trial run."),
    "on_volume": gettext_lazy(
        "%(path)s lies below a mounted volume, which every Worker sees; "
        "the path check tells whether it is there."
    ),
    "no_code_path": gettext_lazy(
        "The command names no path on a volume. Do all Workers find code and data there?"
    ),
    "kept": gettext_lazy("%(path)s lies on a volume that can be written."),
    "all_read_only": gettext_lazy("Every volume that is mounted is read only: nothing can be saved there."),
    "no_output_path": gettext_lazy(
        "Where results go cannot be seen here. Does the code write them below %(mount)s?"
    ),
    "failure_shows": gettext_lazy("Nothing in the start command hides that a program failed."),
    "not_understood": gettext_lazy(
        "The start command cannot be read to its end. Does it end with the exit code of the training?"
    ),
    "alone": gettext_lazy("One Worker: there is nobody to find."),
    "no_framework": gettext_lazy("No framework is chosen: the Workers know nothing of each other."),
    "meets_by": gettext_lazy("The start command uses %(names)s."),
    "variables_unseen": gettext_lazy(
        "The start command uses none of the variables of %(framework)s. Does the script read them?"
    ),
    "resumes": gettext_lazy("Automatic restart is on, and nothing says that the run would begin anew."),
    "not_restarted": gettext_lazy("Does a long run save checkpoints, and go on from the last one?"),
    "first_time": gettext_lazy("Has this code run up to the first batch, with this image and these volumes?"),
}


@kept_by_language
def point_title(code: str) -> str:
    return str(TITLES[code])


def point_text(why: str, data: Mapping[str, Any]) -> str:
    """What there is to say of a point; the code itself if it has no sentence (a test looks for those)."""
    plain = ((name, tuple(value) if isinstance(value, list) else value) for name, value in data.items())
    return _said(why, tuple(plain))


@kept_by_language
def _said(why: str, data: tuple[tuple[str, Any], ...]) -> str:
    told = dict(data)
    if "gpus" in told:
        told["gpus"] = gpus_text(told["gpus"])
    if "workers" in told:
        told["workers"] = ngettext("%(n)s Worker", "%(n)s Workers", told["workers"]) % {"n": told["workers"]}
    if "framework" in told:
        known = told["framework"] in set(Framework)
        told["framework"] = FRAMEWORK_LABELS[Framework(told["framework"])] if known else told["framework"]
    if "names" in told:
        told["names"] = pgettext("between entries", ", ").join(told["names"])
    return filled(POINTS, why, told)
