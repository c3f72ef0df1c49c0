"""What the Workers of a failed run have left on their own disk: until when, reading it, letting go of it.

The row of the attempt is what holds: `kept_until` is written together with the job's end, and after that
moment nobody begins to read, whether the engine has dropped the files by then or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from engines.base import AttemptKey, Engine, KeptBytes, KeptFolder, NotKept
from jobs.lifecycle import event
from jobs.models import Attempt, Job, Worker
from runs.kept_paths import MOST_PATH_BYTES
from runs.registry import engine_of
from teams.models import User

FOR_ROOM = "files_gave_room"  # the event


class NeverKept(Exception):
    """The job has not failed, or did not ask for this, or its command never ran."""


class NoLongerKept(Exception):
    """There were files once; `for_room`: they went before their time, since others needed the room."""

    def __init__(self, *, for_room: bool) -> None:
        super().__init__(for_room)
        self.for_room = for_room


def files_keep(*, job: Job, attempt: Attempt) -> None:
    """Of an attempt with which the job has just failed, in the same transaction."""
    if attempt.files_held and attempt.started_at is not None:
        minutes = timedelta(minutes=job.request["keep_after_failure_minutes"])
        Attempt.objects.filter(pk=attempt.pk).update(kept_until=timezone.now() + minutes)


def files_remove(*, job: Job, actor: User) -> bool:
    """Lets go of the files before their time; whether there were some. They are unreadable at once."""
    now = timezone.now()
    with transaction.atomic():
        kept = Attempt.objects.filter(job=job, number=job.attempt, kept_until__gt=now, files_held=True)
        if not kept.update(kept_until=now):
            return False
        event(job.pk, "files_removed", actor=actor)
        return True


def files_yield() -> Attempt | None:
    """Lets go of those files whose time would end first, so that there is room; whose they were."""
    now = timezone.now()
    with transaction.atomic():
        kept = Attempt.objects.filter(kept_until__gt=now, files_held=True)
        first = kept.select_related("job__pool").order_by("kept_until", "pk").first()
        if first is None or not kept.filter(pk=first.pk).update(kept_until=now):
            return None
        event(first.job_id, FOR_ROOM)
        return first


def place_of(*, job: Job, rank: int, path: bytes) -> Place:
    """What lies at `path` on the own disk of a Worker of the failed run, to be read as long as the engine has
    it. NeverKept, NoLongerKept or NotKept if there is nothing to read."""
    attempt = Attempt.objects.filter(job=job, number=job.attempt).first()
    if attempt is None or attempt.kept_until is None:
        raise NeverKept
    if not Worker.objects.filter(attempt=attempt, rank=rank).exists():
        raise NotKept(rank)
    if not attempt.files_held or attempt.kept_until <= timezone.now():
        raise NoLongerKept(for_room=job.events.filter(code=FOR_ROOM).exists())
    if len(path) > MOST_PATH_BYTES:
        raise NotKept("the path is too long")
    return Place(engine_of(job.pool.engine), AttemptKey(job.key, attempt.number), rank, path)


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder of a Worker; nothing is asked of the database. Reading raises NotKept if it is not of
    that kind, or gone; EngineError if it cannot be read now."""

    engine: Engine
    key: AttemptKey
    rank: int
    path: bytes

    def entries(self, first: int, limit: int) -> KeptFolder:
        return self.engine.kept_folder(self.key, self.rank, self.path, first, limit)

    def bytes(self, offset: int, limit: int) -> KeptBytes:
        return self.engine.kept_bytes(self.key, self.rank, self.path, offset, limit)
