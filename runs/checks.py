"""Django system checks: in production, jobs run protected or the console does not start."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core import checks

from runs.registry import engine_of


@checks.register
def sandbox_check(app_configs: Any, **kwargs: Any) -> list[checks.CheckMessage]:
    """Unprotected jobs in production only where SANDBOX names that mode on purpose."""
    if not settings.PRODUCTION or settings.SANDBOX != "auto":
        return []
    protection = engine_of("local").protection()
    if protection.safe:
        return []
    return [
        checks.Error(
            f"jobs would run unprotected ({protection.mode}): {protection.reason}",
            hint="Allow user namespaces, or set SANDBOX to that mode on purpose.",
            id="runs.E001",
        )
    ]
