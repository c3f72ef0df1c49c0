"""Why a channel or a rule cannot be as it was asked for, in the reader's language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from alerts.texts import error_text

REFUSALS: dict[str, Promise] = {
    "required": _("This field is required."),
    "too_long": _("At most %(most)s characters."),
    "not_printable": _("Without line breaks and other signs that cannot be seen."),
    "unknown": _("There is no such choice."),
    "no_secret": _("Channels of this kind do not sign, so they take no secret."),
    "name_taken": _("You have a channel of this name already."),
    "too_many_channels": _("You have %(most)s channels already: delete one that is not used any more."),
    "url_wanted": _("Channels of this kind take a “url”."),
    "address_wanted": _("E-mail channels take an “address”."),
    "fixed": _("The kind of a channel stays as it is: make another one."),
    "not_shared": _("Only a shared channel has a team."),
    "which_team": _("You have several teams: say which one."),
    "no_team": _("You belong to no team with which it could be shared."),
    "one_timed_event": _("At most one of the events with a time limit in one rule."),
    "event_wanted": _("Choose at least one event."),
    "minutes_wanted": _("Say after how many minutes."),
    "minutes_unwanted": _("Only an event with a time limit has minutes."),
    "pool_unwanted": _("Only a rule on pools names one."),
    "out_of_range": _("Must be from %(least)s to %(most)s."),
    "too_many_rules": _("There are %(most)s rules already: delete one that is not needed any more."),
}


def refusal_text(code: str, data: Mapping[str, Any]) -> str:
    """Also of addresses to which nothing is sent."""
    return str(REFUSALS[code]) % data if code in REFUSALS else error_text(code, data)
