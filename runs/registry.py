"""The engine behind a pool."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings

from engines.base import Engine
from engines.local.engine import LocalEngine, Means


@lru_cache(maxsize=8)
def engine_of(kind: str) -> Engine:
    """One engine a kind and process; KeyError for a kind that the console does not have."""
    return {"local": _local}[kind]()


def _local() -> Engine:
    return LocalEngine(settings.RUNS_DIR, settings.SANDBOX, means=Means(groups=settings.WORKER_CGROUP))
