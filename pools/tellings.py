"""How notices of pools are told, and which pools there are for rules on them."""

from __future__ import annotations

from alerts.message import Told
from alerts.models import Notice
from alerts.rules import Subject
from alerts.subjects import naming_set, telling_set
from pools.models import Pool
from pools.texts import pool_told


def pool_telling(notice: Notice, log: bool) -> Told:
    return pool_told(notice)


def pools_named() -> list[tuple[int, str]]:
    """Those that are not retired."""
    return list(Pool.objects.filter(retired_at=None).order_by("name").values_list("pk", "name"))


telling_set(Subject.POOL, pool_telling)
naming_set(Subject.POOL, pools_named)
