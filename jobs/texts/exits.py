"""Sentences of what hides the exit code of a training."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

EXITS = {
    "exit_pipe": gettext_lazy(
        "A pipe ends as its last part does, “%(then)s”: if an earlier part fails, nobody notices. "
        "“set -o pipefail” changes that."
    ),
    "exit_later_command": gettext_lazy(
        "If “%(shown)s” fails, the command goes on, "
        "and how its last part ends decides whether the job succeeds."
    ),
    "exit_ignored": gettext_lazy(
        "If what stands before || fails, “%(then)s” decides instead, and the failure is lost."
    ),
    "exit_background": gettext_lazy(
        "Nothing waits for “%(shown)s”: its failure goes unnoticed, "
        "and it is killed if it still runs when the command ends."
    ),
    "exit_wait": gettext_lazy(
        "“%(shown)s” lets failures in the background go: wait alone always ends with 0, "
        "and with several processes it tells only of the last."
    ),
    "exit_trap": gettext_lazy("This trap makes the command end with 0, also after a failure."),
    "exit_condition": gettext_lazy(
        "Here a failure only chooses the way on, and that way ends well: “exit 1” is missing where it failed."
    ),
    "exit_negated": gettext_lazy("! turns a failure into success, and “set -e” does not see it either."),
    "exit_and_list": gettext_lazy(
        "“set -e” does not see what fails before &&: after a failure in “%(shown)s” the command goes on."
    ),
    "exit_errexit_ignored": gettext_lazy(
        "“set -e” has no effect here, within what if, &&, || or ! asks for: "
        "after a failure of “%(shown)s” the command goes on."
    ),
    "exit_masked": gettext_lazy(
        "The exit code of what runs within “%(shown)s” is lost. "
        "Only a plain assignment, NAME=$(…), keeps that of $(…)."
    ),
    "exit_zero": gettext_lazy("“%(shown)s” ends with 0, also if what stands before it has failed."),
    "exit_multiple": gettext_lazy("Exit codes have 8 bits: “%(shown)s” is 0, and thus a success."),
    "exit_loop": gettext_lazy(
        "Only the last turn of the loop decides: if “%(shown)s” fails in an earlier one, nobody notices."
    ),
    "exit_cd": gettext_lazy("If “%(shown)s” fails, the next line runs all the same, in another folder."),
    "command_too_long_to_check": gettext_lazy(
        "The command is too long to be followed to its end: make sure yourself that a failure makes it fail."
    ),
    "command_syntax": gettext_lazy(
        "“%(shown)s” is not understood as bash: "
        "look there and above for a quote, bracket, done or fi that is missing."
    ),
}
OF_SCRIPTS = {
    "command_too_long_to_check": gettext_lazy(
        "The script is too long to be followed to its end: make sure yourself that a failure makes it fail."
    ),
}
IN_SCRIPT = gettext_lazy("%(script)s, line %(line)s: %(text)s")
IN_WHOLE_SCRIPT = gettext_lazy("%(script)s: %(text)s")
