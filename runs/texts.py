"""Sentences for what runs, in the reader's language."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from alerts.labels import event_label
from alerts.message import Told
from alerts.models import Notice
from alerts.moments import moment_text
from storage.texts import size_text

SYMPTOMS = {
    "module_missing": gettext_lazy(
        "The image has no Python module “%(name)s”: install it, or take another image."
    ),
    "program_missing": gettext_lazy("The program “%(name)s” was not found in the image."),
    "variable_missing": gettext_lazy("The variable %(name)s is not set; set it under environment variables."),
    "path_missing": gettext_lazy("%(path)s is not there. Is its volume mounted, and is the name right?"),
    "not_permitted": gettext_lazy(
        "Something may not be read, written or run: its permissions do not allow it."
    ),
    "not_permitted_path": gettext_lazy("The permissions of %(path)s do not allow what was tried."),
    "read_only": gettext_lazy("Something was written where nothing can be: write to a mounted volume."),
    "read_only_path": gettext_lazy("%(path)s cannot be written to: write to a mounted volume."),
    "port_in_use": gettext_lazy("A port is in use already: take MASTER_PORT, which is free for this job."),
    "no_space": gettext_lazy("A disk or a volume is full."),
    "shared_memory": gettext_lazy(
        "Shared memory ran out: fewer data loader processes, or a larger Worker spec."
    ),
    "gpu_memory": gettext_lazy("The memory of a GPU ran out: a smaller batch, or more GPUs."),
    "not_meeting": gettext_lazy(
        "The Workers did not find each other in time; another one may have failed first."
    ),
    "rank_failed": gettext_lazy("The process of rank %(rank)s failed first, with %(exit_code)s."),
}


def symptom_text(code: str, data: Mapping[str, Any]) -> str:
    """The sentence of a symptom, which is longer where a path is known."""
    longer = f"{code}_path" if "path" in data and f"{code}_path" in SYMPTOMS else code
    return str(SYMPTOMS[longer]) % data


def machine_told(notice: Notice) -> Told:
    """What a notice of the machine says."""
    data = notice.data
    facts = [(_("Time"), moment_text(notice.at))]
    if notice.code == "engine_late":
        since = moment_text(datetime.fromisoformat(data["since"]))
        text = _(
            "Nobody has looked after the jobs since %(since)s: none is started, watched or stopped until the "
            "worker of the queue “engine” is back. Jobs that run go on."
        ) % {"since": since}
    else:
        text = _("The disk is %(share)s %% full, with %(free)s left.") % {
            "share": data["share"],
            "free": size_text(data["free"]),
        }
        facts.insert(0, (_("Folders"), ", ".join(data["folders"])))
    return Told(
        title=event_label(notice.code, data.get("minutes")),
        text=text,
        facts=tuple(facts),
        path=reverse("admin:index"),
    )
