"""What a section of the form holds, in one line, for when it is closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from jobs.estimate import Estimate
from jobs.facts import Facts
from jobs.forms.job import JobForm
from jobs.spec import AlertAsked, JobSpec
from jobs.states import Framework
from jobs.texts import FRAMEWORK_LABELS, HANG_ACTION_LABELS, PRIORITY_LABELS, gpus_text
from jobs.texts.alerts import alert_text

BETWEEN = " · "


def said_of(form: JobForm, spec: JobSpec, facts: Facts, judged: Estimate) -> dict[str, str]:
    """A line for each section; empty where nothing has been filled in."""
    gpus = gpus_text(judged.total_gpus) if judged.total_gpus else ""
    return {
        "resources": _joined(facts.pool.name if facts.pool else "", gpus),
        "environment": _joined(facts.image.reference if facts.image else "", _framework(spec)),
        "command": _command(spec),
        "storage": pgettext("between entries", ", ").join(m.mount_path for m in spec.mounts),
        "alerts": alerts_said(spec.alerts or (), {c.id: c.name for c in facts.channels.values()}),
        "basics": spec.name.strip(),
        "tolerance": _tolerance(spec),
        "advanced": _advanced(spec),
    }


def alerts_said(alerts: Sequence[AlertAsked], names: Mapping[int, str]) -> str:
    told = (alert_text(one.events, one.minutes, names.get(one.channel, f"#{one.channel}")) for one in alerts)
    return BETWEEN.join(told) or _("nobody is told")


def _tolerance(spec: JobSpec) -> str:
    restarts = ngettext("%(n)s restart at most", "%(n)s restarts at most", spec.max_restarts)
    hang = HANG_ACTION_LABELS.get(spec.hang_does, "")
    return _joined(
        _("environment check") if spec.env_check else "",
        restarts % {"n": spec.max_restarts} if spec.auto_restart else "",
        _("when it hangs: %(action)s") % {"action": hang} if spec.hang_detection else "",
    )


def _advanced(spec: JobSpec) -> str:
    return _joined(
        _("priority %(name)s") % {"name": PRIORITY_LABELS.get(spec.priority, spec.priority)},
        _("not created if it would wait") if spec.start_policy == "now" else "",
        _("waits %(n)s min at most") % {"n": spec.max_queue_minutes} if spec.max_queue_minutes else "",
        _("runs %(n)s min at most") % {"n": spec.max_runtime_minutes} if spec.max_runtime_minutes else "",
        _("files kept %(n)s min") % {"n": kept} if (kept := spec.keep_after_failure_minutes) else "",
    )


def _joined(*parts: str) -> str:
    return BETWEEN.join(part for part in parts if part)


def _framework(spec: JobSpec) -> str:
    known = {str(f) for f in Framework}
    return str(FRAMEWORK_LABELS[Framework(spec.framework)]) if spec.framework in known else ""


def _command(spec: JobSpec) -> str:
    lines = spec.command.strip().splitlines()
    if not lines:
        return ""
    if len(lines) == 1:
        return lines[0][:80]
    return ngettext("%(n)s line", "%(n)s lines", len(lines)) % {"n": len(lines)}
