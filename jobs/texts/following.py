"""What became different in the form after another team, pool or spec was chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy

from jobs.texts.alerts import left_out_text
from jobs.texts.filling import filled
from jobs.texts.reasons import gpus_text

FOLLOWING = {
    "pool_gone": gettext_lazy(
        "The team %(team)s may not use the resource pool %(name)s: choose another. "
        "What goes with a pool comes back where it can be used."
    ),
    "pool_retired": gettext_lazy(
        "The resource pool %(name)s was retired: choose another. "
        "What goes with a pool comes back where it can be used."
    ),
    "pool_missing": gettext_lazy("What goes with a resource pool comes back once you choose one."),
    "spec_carried": gettext_lazy("The Worker spec is now that of the resource pool %(pool)s with %(size)s."),
    "spec_gone": gettext_lazy(
        "It is not clear which Worker spec of the resource pool %(pool)s takes the place of the one with "
        "%(size)s: choose one."
    ),
    "spec_retired": gettext_lazy("The Worker spec %(name)s was retired: choose another."),
    "spec_replaced": gettext_lazy("The Worker spec %(name)s was retired: it is now the other with %(size)s."),
    "flavor_gone": gettext_lazy("The node flavor %(name)s is not in the resource pool %(pool)s: choose one."),
    "image_gone": gettext_lazy(
        "The image %(name)s cannot be used in the resource pool %(pool)s (zone %(zone)s): cleared."
    ),
    "image_retired": gettext_lazy("The image %(name)s was retired: choose another."),
    "public_data_gone": gettext_lazy("The zone %(zone)s offers no public data: switched off."),
    "mount_gone": gettext_lazy(
        "The volume %(name)s cannot be mounted in the zone %(zone)s: its row with %(path)s is taken out."
    ),
    "alert_gone": gettext_lazy(
        "The alert channel %(name)s is not for jobs of this team: its alert is taken out."
    ),
    "priority_lowered": gettext_lazy(
        "The job has high priority, which you may not use in its team: set to normal."
    ),
    "mount_retired": gettext_lazy("The volume %(name)s was retired: its row with %(path)s is taken out."),
    "mounts_suggested": gettext_lazy("Mounted instead, as your team suggests: %(paths)s."),
}
RDMA_WENT_OFF = {
    "rdma_needs_network": gettext_lazy("RDMA is switched off: it needs a RoCE or IB training network."),
    "rdma_needs_full_workers": gettext_lazy("RDMA is switched off: it needs 8 GPUs in every Worker."),
}
KINDS = {
    "pool": pgettext_lazy("back again", "resource pool %(name)s"),
    "spec": pgettext_lazy("back again", "Worker spec %(name)s"),
    "flavor": pgettext_lazy("back again", "node flavor %(name)s"),
    "image": pgettext_lazy("back again", "image %(name)s"),
    "mounts": pgettext_lazy("back again", "volume %(name)s"),
    "public_data": pgettext_lazy("back again", "public data"),
    "alerts": pgettext_lazy("back again", "alert to %(name)s"),
    "rdma": "RDMA",
}


def following_text(code: str, data: Mapping[str, Any]) -> str:
    """A sentence about what went, was replaced, or came back."""
    if code == "back":
        named = [str(KINDS[kind]) % {"name": name} for kind, name in data["what"]]
        return _("Back again: %(what)s.") % {"what": _listed(named)}
    if code == "alerts_left_out":
        return left_out_text(data["n"])
    if code == "rdma_went_off":
        return filled(RDMA_WENT_OFF, data["why"], {})
    if code == "mounts_suggested":
        data = {"paths": _listed(data["paths"])}
    if code.startswith("spec_"):
        data = {**data, "size": gpus_text(data["gpus"])}
    return filled(FOLLOWING, code, data)


def moved_text() -> str:
    """Why nothing was created though no rule is broken: its sender has not seen what the pool offers."""
    return _(
        "Another resource pool was chosen just before: look at what goes with it. "
        "Nothing was created yet; press the button again if that is all right."
    )


def _listed(entries: Sequence[str]) -> str:
    return pgettext("between entries", ", ").join(dict.fromkeys(entries))
