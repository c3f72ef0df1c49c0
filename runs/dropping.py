"""Has the engines drop the files of attempts that nobody may read, or may read any more.

Both of a job that has failed and whose time is over, and of one that ended in any other way: only then is it
known that its files were kept for nothing. Where room is short, files go before their time, one attempt after
another. Bounded, safe to repeat; what is left is done the next time.
"""

from __future__ import annotations

import logging
import time
from threading import Lock

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils import timezone

from engines.base import AttemptKey, EngineError
from jobs.models import Attempt
from runs.kept import files_yield
from runs.registry import engine_of
from storage.space import space_ask

logger = logging.getLogger(__name__)

MOST = 200
SECONDS = 2.0
WARN_S = 60.0
_lock = Lock()
_warned: dict[str, float] = {}  # when `again`; the lock is held


def drop_due() -> None:
    """Once over what is due, for a few seconds at most; one thread of a process at a time."""
    if not _lock.acquire(blocking=False):
        return
    try:
        if _all_dropped(time.monotonic() + SECONDS) and room_is_short():
            attempt = files_yield()
            if attempt is not None:
                _drop(attempt)
    finally:
        _lock.release()


def room_is_short() -> bool:
    """Whether less than KEPT_FREE_PERCENT of the file system that kept files lie on is free."""
    space = space_ask(str(settings.DATA_DIR))
    return space is not None and 100 - space.used_share < settings.KEPT_FREE_PERCENT


def _all_dropped(until: float) -> bool:
    """Drops what is due. False if there is more than could be done: it makes room as well."""
    dropped = []
    for attempt in due()[:MOST]:
        if time.monotonic() > until:
            return False
        dropped.append(_drop(attempt))
    return all(dropped)


def due() -> QuerySet[Attempt]:
    """In no order: what cannot be dropped must not keep the others waiting."""
    over = Q(kept_until=None) | Q(kept_until__lte=timezone.now())
    ended = Attempt.objects.filter(over, files_held=True, ended_at__isnull=False)
    return ended.select_related("job__pool").only("number", "job__key", "job__pool__engine").order_by("?")


def _drop(attempt: Attempt) -> bool:
    """First the files, then the row: who is killed between the two does the first again, which is nothing.
    False if it takes longer; what the engine cannot do is not waited for."""
    key = AttemptKey(attempt.job.key, attempt.number)
    try:
        gone = engine_of(attempt.job.pool.engine).drop(key)
    except EngineError as error:
        _warn(error)
        return True
    if gone:
        Attempt.objects.filter(pk=attempt.pk).update(files_held=False)
    return gone


def _warn(error: EngineError) -> None:
    """Tried again each second, but told once a minute."""
    if time.monotonic() >= _warned.get("again", 0.0):
        _warned["again"] = time.monotonic() + WARN_S
        logger.warning("%s", error)
