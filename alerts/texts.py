"""Sentences about deliveries, in the reader's language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

# What went wrong and what to do about it, by the codes of `alerts.senders` and of deliveries.
ERRORS = {
    "address_form": _("This is no complete address: copy all of it, from https:// on."),
    "address_scheme": _("The address has to begin with https:// or http://."),
    "address_user": _("The address must not contain a user or a password before the @."),
    "address_unknown": _("The name in the address is not known: check it for a typing error."),
    "address_refused": _(
        "The address leads to this machine, to a private network or to a service of the cloud, where the "
        "console does not send to. An administrator can permit networks by ALERT_ALLOWED_NETWORKS."
    ),
    "mail_address": _("This is no e-mail address."),
    "no_mail_server": _("The console has no mail server: an administrator sets EMAIL_URL."),
    "kind_off": _("This console does not send to channels of this kind: an administrator can allow it."),
    "unreadable": _("The console cannot read the stored address any more: enter address and secret anew."),
    "timeout": _("The receiver did not answer within %(seconds)g seconds."),
    "connection": _("No connection to the receiver: it is down, or something between refuses it."),
    "certificate": _("The receiver's certificate is not valid for this address: %(reason)s."),
    "tls": _("No encrypted connection to the receiver: does the address begin with https:// by mistake?"),
    "answer_broken": _("The connection broke off before the receiver had answered."),
    "redirect": _(
        "The receiver answered with a redirect (HTTP %(status)s), which is not followed: enter the address "
        "that it leads to."
    ),
    "status": _("The receiver answered with HTTP status %(status)s."),
    "mail_refused": _(
        "The mail server refused the address or the mail (SMTP %(status)s): check the address."
    ),
    "mail_later": _("The mail server asked to try again later (SMTP %(status)s)."),
    "mail_server": _("The console's mail server does not take mail: ask an administrator."),
    "answer_unknown": _(
        "The receiver gave an answer that this kind of channel does not give: check that the address is one "
        "of this kind."
    ),
    "receiver_address": _(
        "The receiver does not know this address, or not any more: copy the address of the robot anew. It "
        "said: %(message)s (%(number)s)"
    ),
    "receiver_secret": _(
        "The receiver does not accept the signature: enter the secret that the robot shows. It said: "
        "%(message)s (%(number)s)"
    ),
    "receiver_keyword": _(
        "The robot only takes messages with one of its keywords: add Trainyard to them, which every message "
        "has. It said: %(message)s (%(number)s)"
    ),
    "receiver_network": _(
        "The robot does not take messages from the console's address: add it to those that it allows. It "
        "said: %(message)s (%(number)s)"
    ),
    "receiver_busy": _("The receiver takes no more messages for now. It said: %(message)s (%(number)s)"),
    "receiver_error": _("The receiver refused the message. It said: %(message)s (%(number)s)"),
    "apprise_form": _("Apprise knows no such address."),
    "apprise_local": _(
        "The console does not use Apprise for what reads files or shows something on its own machine."
    ),
    "apprise_failed": _("Apprise could not deliver it, and does not tell why: check the address."),
    "channel_deleted": _("The channel was deleted."),
    "owner_left": _(
        "The channel's owner may not see this any more: the account is off, has left the team, or is no "
        "administrator."
    ),
    "shared_elsewhere": _("The channel is shared with another team."),
    "internal": _("The console failed to send it; administrators find the cause in the log of the worker."),
    "channel_was_disabled": _("The channel was disabled at that time."),
    "channel_disabled": _("The channel is disabled: enable it after you have mended what went wrong."),
}


def error_text(code: str, data: Mapping[str, Any]) -> str:
    """Why a delivery or an address failed, and what helps; the code itself where no sentence knows it."""
    return str(ERRORS[code]) % data if code in ERRORS else code
