"""Pages' share of what runs: how jobs are kept apart on this machine, and their logs."""

from __future__ import annotations

from django.http import HttpRequest

from engines.base import Protection
from runs.registry import engine_of


def protection(request: HttpRequest) -> dict[str, Protection]:
    """Context of every page: whether jobs run unprotected here."""
    return {"protection": engine_of("local").protection()}
