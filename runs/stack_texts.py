"""Sentences about stacks, in the reader's language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy

from jobs.texts.filling import filled

STACK_REASONS = {
    "not_running": gettext_lazy("It did not run at that moment."),
    "engine_unavailable": gettext_lazy("The machine could not tell; try again."),
    "no_python": gettext_lazy("It had no Python process."),
    "not_installed": gettext_lazy("py-spy, which reads the stacks, is not installed on this machine."),
    "too_slow": gettext_lazy("It took too long, so it was left out; try one Worker alone."),
    "too_large": gettext_lazy("There was too much to keep; try one Worker alone."),
    "proot": gettext_lazy("This machine runs jobs with proot, and through that stacks cannot be read."),
    "denied": gettext_lazy("The machine does not permit to look into this process."),
    "gone": gettext_lazy("It ended meanwhile."),
    "unreadable": gettext_lazy("Its stacks cannot be read: an unusual Python, or it was just starting."),
}


def stack_reason_text(code: str, data: Mapping[str, Any]) -> str:
    """Why there are no stacks."""
    return filled(STACK_REASONS, code, data)
