"""What is looked at each minute for administrators: queues, prepaid periods, file systems, engines."""

from __future__ import annotations

import logging

from jobs.stuck import queues_watch
from pools.notices import endings_tell
from runs.late import engine_watch
from storage.notices import disks_watch

logger = logging.getLogger(__name__)


def look_around() -> None:
    for look in (queues_watch, endings_tell, disks_watch, engine_watch):
        try:
            look()
        except Exception:  # the others must not go without because of one
            logger.exception("%s failed", look.__name__)
