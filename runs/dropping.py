"""Has the engines drop the files of attempts that nobody may read, or may read any more.

Both of a job that has failed and whose time is over, and of one that ended in any other way: only then is it
known that its files were kept for nothing. Bounded, safe to repeat; what is left is done the next time.
"""

from __future__ import annotations

import logging
import time
from threading import Lock

from django.db.models import Q, QuerySet
from django.utils import timezone

from engines.base import AttemptKey, EngineError
from jobs.models import Attempt
from runs.registry import engine_of

logger = logging.getLogger(__name__)

MOST = 200
SECONDS = 2.0
_lock = Lock()


def drop_due() -> None:
    """Once over what is due, for a few seconds at most; one thread of a process at a time."""
    if not _lock.acquire(blocking=False):
        return
    try:
        until = time.monotonic() + SECONDS
        for attempt in due()[:MOST]:
            if time.monotonic() > until:
                return
            _drop(attempt)
    finally:
        _lock.release()


def due() -> QuerySet[Attempt]:
    """In no order: what cannot be dropped must not keep the others waiting."""
    over = Q(kept_until=None) | Q(kept_until__lte=timezone.now())
    ended = Attempt.objects.filter(over, files_held=True, ended_at__isnull=False)
    return ended.select_related("job__pool").only("number", "job__key", "job__pool__engine").order_by("?")


def _drop(attempt: Attempt) -> None:
    """First the files, then the row: who is killed between the two does the first again, which is nothing."""
    key = AttemptKey(attempt.job.key, attempt.number)
    try:
        gone = engine_of(attempt.job.pool.engine).drop(key)
    except EngineError as error:
        logger.warning("%s", error)
        return
    if gone:
        Attempt.objects.filter(pk=attempt.pk).update(files_held=False)
