"""How a job was made from an earlier one."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from jobs.difference import How

PRIVATE = {
    How.KEPT: gettext_lazy("the private value of the earlier job, used again"),
    How.ENTERED: gettext_lazy("a private value that was entered for this job"),
}


def private_text(how: How) -> str:
    """Where the value of a private variable comes from."""
    return str(PRIVATE[how])
