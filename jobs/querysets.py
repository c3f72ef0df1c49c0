"""How jobs are found. Everything a person sees goes through `for_user`."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import F

from jobs.states import PLACED, State

MOST_COUNTED = 1000
LARGE_FIELDS = ("request", "frozen", "findings")
SHOWN = {
    **{f"shown_{name}": f"frozen__{name}" for name in ("pool", "flavor", "spec", "image")},
    **{f"shown_{name}": f"request__{name}" for name in ("job_type", "resource_type", "custom_gpus")},
    **{f"shown_{name}": f"request__{name}" for name in ("rdma", "public_data", "stop_grace_seconds")},
    **{f"shown_{name}": f"request__{name}" for name in ("auto_restart", "max_restarts", "hang_detection")},
    **{f"shown_{name}": f"request__{name}" for name in ("hang_timeout_seconds", "hang_action")},
    **{f"shown_{name}": f"request__{name}" for name in ("max_runtime_minutes", "max_queue_minutes")},
    "shown_start_policy": "request__start_policy",
    "shown_env_check": "request__env_check",
    "shown_keep_after_failure_minutes": "request__keep_after_failure_minutes",
}


class JobQuerySet(models.QuerySet[Any]):
    def for_user(self, user: Any, team: Any = None) -> JobQuerySet:
        """The jobs of the user's teams, or of one of them; a stranger finds nothing."""
        jobs = self.filter(team__memberships__user=user)
        return jobs.filter(team=team) if team else jobs

    def waiting(self) -> JobQuerySet:
        return self.filter(state=State.QUEUED)

    def placed(self) -> JobQuerySet:
        """Jobs that hold GPUs."""
        return self.filter(state__in=PLACED)

    def counted(self) -> int:
        """How many these are, up to a bound: counting all that a team ever had takes ever longer."""
        return self.order_by()[:MOST_COUNTED].count()

    def light(self) -> JobQuerySet:
        """Without the large fields: a request alone may hold half a megabyte of command and variables."""
        return self.defer(*LARGE_FIELDS)

    def shown(self) -> JobQuerySet:
        """With what a row shows of the large fields, taken out of them by the database, as `shown_…`."""
        rows: JobQuerySet = self.annotate(**{name: F(path) for name, path in SHOWN.items()})
        return rows
