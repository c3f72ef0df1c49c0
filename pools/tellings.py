"""Which pools there are, for rules on them."""

from __future__ import annotations

from alerts.rules import Subject
from alerts.subjects import naming_set
from pools.models import Pool


def pools_named() -> list[tuple[int, str]]:
    """Those that are not retired."""
    return list(Pool.objects.filter(retired_at=None).order_by("name").values_list("pk", "name"))


naming_set(Subject.POOL, pools_named)
