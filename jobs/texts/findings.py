"""Sentences of check results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy, ngettext_lazy

from jobs.texts.advice import ADVICE, DID_YOU_MEAN, KEPT, advice_text
from jobs.texts.exits import EXITS, IN_SCRIPT, IN_WHOLE_SCRIPT, OF_SCRIPTS
from jobs.texts.filling import filled, span_text

FINDINGS = {
    **ADVICE,
    **EXITS,
    "required": gettext_lazy("This field is required."),
    "invalid_choice": gettext_lazy("This is not one of the choices."),
    "out_of_range": gettext_lazy("Must be from %(least)s to %(most)s."),
    "too_many": gettext_lazy("At most %(most)s entries."),
    "nul_character": gettext_lazy("A NUL character cannot be used here."),
    "team_unknown": gettext_lazy("You are not a member of this team."),
    "pool_unknown": gettext_lazy("There is no such resource pool for this team."),
    "pool_without_nodes": gettext_lazy("No node flavor has been set up for this resource pool."),
    "spec_unknown": gettext_lazy("This Worker spec does not belong to the resource pool, or was retired."),
    "flavor_unknown": gettext_lazy("This node flavor does not belong to the resource pool."),
    "only_with_custom_gpus": gettext_lazy("Only used with a custom GPU count."),
    "excluded_by_custom_gpus": gettext_lazy("Cannot be given together with a custom GPU count."),
    "never_fits": ngettext_lazy(
        "Can never run here: the pool has not enough nodes for %(workers)s Worker (%(gpus)s).",
        "Can never run here: the pool has not enough nodes for %(workers)s Workers (%(gpus)s).",
        "workers",
    ),
    "over_quota": ngettext_lazy(
        "This can never run here: it wants %(wanted)s GPU, and your team may hold %(limit)s in this pool.",
        "This can never run here: it wants %(wanted)s GPUs, and your team may hold %(limit)s in this pool.",
        "wanted",
    ),
    "public_data_not_offered": gettext_lazy("The zone %(zone)s offers no public data."),
    "rdma_needs_network": gettext_lazy(
        "RDMA needs a RoCE or IB training network, which this spec does not have."
    ),
    "rdma_needs_full_workers": gettext_lazy("RDMA needs 8 GPUs in every Worker."),
    "image_unknown": gettext_lazy("There is no such image for this team."),
    "image_not_for_jobs": gettext_lazy("The available services of this image do not include jobs."),
    "image_in_other_zone": gettext_lazy(
        "This image is not available in the zone %(zone)s of the resource pool."
    ),
    "image_not_runnable": gettext_lazy(
        "The image %(image)s can never run in the resource pool %(pool)s, which can only run %(images)s."
    ),
    "unequal_workers": gettext_lazy(
        "The last Worker has fewer GPUs than the others: make sure that the script copes with that."
    ),
    "single_with_several_workers": gettext_lazy(
        "Each Worker runs the same command by itself and gets no rank. "
        "Choose a framework if they are to work together."
    ),
    "env_name": gettext_lazy(
        "“%(name)s” is no variable name: letters, digits and _, not starting with a digit."
    ),
    "env_injected": gettext_lazy("%(name)s is set by the platform and cannot be given here."),
    "env_of_bash": gettext_lazy("bash sets %(name)s itself: the start command will see another value."),
    "turning_character": gettext_lazy("Characters that change the direction of reading cannot be used here."),
    "alert_twice": gettext_lazy("This is the same alert as number %(first)s."),
    "control_character": gettext_lazy("Line breaks and other control characters cannot be used here."),
    "env_duplicate": gettext_lazy("%(name)s is given twice."),
    "env_not_an_assignment": gettext_lazy("“%(piece)s” is not of the form NAME=value."),
    "env_fullwidth_semicolon": gettext_lazy(
        "“%(piece)s” contains the full-width sign ；. Separate variables by ; or quote the value."
    ),
    "excluded_by_value": gettext_lazy("Give either a value or a job that has it."),
    "private_source_in_clear": gettext_lazy(
        "The private value of %(name)s can only be used again in a variable that is private too."
    ),
    "private_source_unknown": gettext_lazy(
        "You see no job %(job)s that has a private variable %(name)s; enter the value anew."
    ),
    "private_enter_anew": gettext_lazy(
        "Somebody else entered %(name)s for what %(job)s runs. Enter a value of your own, or leave team, "
        "zone, image, command, framework, volumes, public data and all variables as they are there."
    ),
    "private_source_unreadable": gettext_lazy(
        "The value that %(name)s has in %(job)s cannot be decrypted any more; enter it anew, "
        "or remove the row."
    ),
    "not_private_there": gettext_lazy("The job has no private variable %(name)s."),
    "volume_unknown": gettext_lazy("There is no such volume for this team."),
    "volume_in_other_zone": gettext_lazy("This volume is not in the zone %(zone)s of the resource pool."),
    "mount_path_absolute": gettext_lazy("A mount path is absolute: it starts with / and has no line breaks."),
    "mount_path_dots": gettext_lazy("A mount path must not contain “..”."),
    "mount_path_reserved": gettext_lazy("%(path)s belongs to the system; mount below /mnt, for example."),
    "mount_path_duplicate": gettext_lazy("%(path)s is already the mount path of row %(other)s."),
    "mount_path_nested": gettext_lazy(
        "%(path)s and %(other)s lie within each other; mount them beside each other."
    ),
    "path_too_long": gettext_lazy(
        "Too long: at most %(most)s bytes, and %(most_name)s bytes between two slashes."
    ),
    "event_unknown": gettext_lazy("There is no event “%(name)s”."),
    "two_timed_events": gettext_lazy(
        "At most one event with a limit in minutes; the others go into further entries."
    ),
    "only_with_timed_event": gettext_lazy("Only used with an event that has a limit in minutes."),
    "channel_unknown": gettext_lazy(
        "There is no such alert channel for jobs of this team: choose a private one of your own, "
        "or one that is shared with this team."
    ),
    "channel_disabled": gettext_lazy("The alert channel %(name)s is disabled: nothing is sent to it."),
    "no_alert": gettext_lazy(
        "Nobody is told when this job fails or waits for long. Alerts are worth it for long or long-queued "
        "jobs."
    ),
    "no_mounts": gettext_lazy("No volume is mounted: whatever the job writes is lost when it ends."),
    "hang_restart_needs_auto_restart": gettext_lazy(
        "A job can be restarted when it hangs only if automatic restart is on."
    ),
    "priority_needs_right": gettext_lazy("Your team admin has not granted you high priority."),
}

EVENT_MEANT = gettext_lazy("There is no event “%(name)s”. Did you mean “%(near)s”?")

RETIRED = {
    "pool_unknown": gettext_lazy("The resource pool %(retired)s was retired: choose another."),
    "spec_unknown": gettext_lazy("The Worker spec %(retired)s was retired: choose another."),
    "image_unknown": gettext_lazy("The image %(retired)s was retired: choose another."),
    "volume_unknown": gettext_lazy(
        "The volume %(retired)s was retired: choose another, or take the row out."
    ),
}

GONE = {
    "pool_unknown": gettext_lazy("The resource pool %(gone)s is not your team's any more."),
    "spec_unknown": gettext_lazy("The Worker spec %(gone)s is not in the resource pool any more."),
    "flavor_unknown": gettext_lazy("The node flavor %(gone)s is not in the resource pool any more."),
    "image_unknown": gettext_lazy("The image %(gone)s is not your team's any more."),
    "volume_unknown": gettext_lazy("The volume %(gone)s is not your team's any more."),
}

TOO_LONG = {
    "bytes": gettext_lazy("Too long: at most %(most)s bytes."),
    "characters": gettext_lazy("Too long: at most %(most)s characters."),
}


def finding_text(code: str, data: Mapping[str, Any]) -> str:
    """The sentence of a check result; the code itself if it has none (a test looks for those)."""
    if code == "too_long":
        return str(TOO_LONG[data["unit"]]) % data
    if "unit" in data:  # a length of time
        told = {name: span_text(data[name], data["unit"]) for name in ("least", "most")}
        return filled(FINDINGS, code, told)
    if "retired" in data:
        return filled(RETIRED, code, data)
    if "gone" in data:
        return filled(GONE, code, data)
    if code == "event_unknown" and "near" in data:
        return str(EVENT_MEANT) % data
    if code == "path_not_mounted" and "near" in data:
        return str(DID_YOU_MEAN) % {**data, "text": filled(FINDINGS, code, data)}
    if "script" in data:
        said = IN_SCRIPT if data.get("line") else IN_WHOLE_SCRIPT
        return str(said) % {**data, "text": script_finding_text(code, data)}
    if "kept" in data:
        return filled(KEPT, code, {**data, "span": span_text(data["kept"], "minutes")})
    return advice_text(code, data) if code in ADVICE else filled(FINDINGS, code, data)


def script_finding_text(code: str, data: Mapping[str, Any]) -> str:
    """The sentence of a check result in a script, where script and line are told beside it."""
    return filled(FINDINGS | OF_SCRIPTS, code, data)
