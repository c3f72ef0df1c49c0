"""Who hears of pools and of the machine."""

from __future__ import annotations

from teams.models import User


def admin_ids() -> tuple[int, ...]:
    """The administrators of the console."""
    return tuple(
        User.objects.filter(is_staff=True, is_active=True).order_by("pk").values_list("pk", flat=True)
    )
