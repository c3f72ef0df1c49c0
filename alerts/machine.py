"""What administrators are told of the machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone

from alerts.admins import admin_ids
from alerts.rules import Subject
from alerts.services import NewNotice, notices_post

THE_MACHINE = 0  # its id as a subject: there is one


def post_of_machine(*, code: str, once: str, data: Mapping[str, Any], channels: Sequence[int] = ()) -> int:
    """Tells administrators, and whoever's rules ask for it; `once` says of which time it is."""
    notice = NewNotice(
        key=f"machine:{code}:{once}",
        codes=(code,),
        subject=Subject.MACHINE,
        subject_id=THE_MACHINE,
        at=timezone.now(),
        data=data,
        readers=admin_ids(),
        channels=tuple(channels),
    )
    return notices_post([notice])
