"""An engine that cannot start an attempt: said at once, borne for a while, then the job fails."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from jobs.findings import Reason
from jobs.lifecycle import event
from jobs.models import Attempt, Job
from jobs.states import State

logger = logging.getLogger(__name__)
MOST_DETAIL = 500


def start_failed(job: Job, attempt: Attempt, detail: str, mode: str) -> Reason | None:
    """Why the job has to fail now; None while it may be tried again, which its page says meanwhile.

    A sandbox that was demanded and does not work (`mode` unavailable) will not work later either.
    """
    logger.warning("%s: the engine cannot start it: %s", job.key, detail)
    if mode == "unavailable":
        return Reason("sandbox_failed", {"rank": 0, "detail": detail[:MOST_DETAIL]})
    reason = Reason("engine_unavailable")  # what the engine says may name folders of the machine
    if timezone.now() - attempt.placed_at > timedelta(seconds=settings.ENGINE_PATIENCE_SECONDS):
        return reason
    with transaction.atomic():
        told = Job.objects.filter(pk=job.pk, state=State.DEPLOYING, reason__isnull=True)
        if told.update(reason=reason.as_json()):
            event(job.pk, "start_delayed", reason=reason.as_json())
    return None
