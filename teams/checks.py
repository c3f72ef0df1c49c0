"""Django system checks: in production, nobody signs in with a demo password."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core import checks

DEMO_USERS = ("admin", "alice", "bob", "carol")
DEMO_PASSWORD = "demo"  # noqa: S105  # it is written in the README


@checks.register(checks.Tags.database)
def demo_users_check(app_configs: Any, databases: Any = None, **kwargs: Any) -> list[checks.CheckMessage]:
    """Looks only at the databases that the check was asked for."""
    if not settings.PRODUCTION or not databases:
        return []
    users = get_user_model().objects.filter(username__in=DEMO_USERS, is_active=True)
    weak = sorted(user.get_username() for user in users if user.check_password(DEMO_PASSWORD))
    if not weak:
        return []
    hint = "Change their passwords or deactivate them."
    return [checks.Error(f"demo users may sign in: {', '.join(weak)}", hint=hint, id="teams.E001")]
