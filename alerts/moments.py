"""How moments are told in notices."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone


def moment_text(moment: datetime) -> str:
    """With its time zone: who reads it may be anywhere."""
    return f"{timezone.localtime(moment):%Y-%m-%d %H:%M:%S %Z}"
