"""Downloads of logs and kept files: signed addresses that live for minutes, and the bytes behind them."""

from __future__ import annotations

import base64
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core import signing
from django.urls import reverse

from engines.base import EngineError
from jobs.models import Job, Worker
from runs.kept import Place, place_of
from runs.kept_paths import path_parts, readable_name, time_told
from runs.logs import log_read
from teams.models import User

CHUNK_BYTES = 2**18  # a server keeps a few of them for a client that is slow to take them
_LOG, _FILE = "runs.log-download", "runs.file-download"  # salts: an address of one is none of the other


class AddressExpired(Exception):
    """The address was good once."""


class AddressUnknown(Exception):
    """The address was never given out, or leads to what its user may not see any more."""


def log_address(*, user: User | AnonymousUser, job: Job, attempt: int, rank: int) -> str:
    """Where `user` can fetch a Worker's log for the next DOWNLOAD_SECONDS, without any further credential."""
    token = signing.dumps([job.key, attempt, rank, user.pk], salt=_LOG)
    path = reverse("log-bytes", args=[token], urlconf=settings.FILES_URLCONF)
    return f"{settings.FILES_URL}{path}"


def file_address(*, user: User | AnonymousUser, job: Job, rank: int, path: bytes) -> str:
    """Likewise for a file that a Worker of the failed run has left."""
    named = base64.b85encode(path).decode()
    token = signing.dumps([job.key, job.attempt, rank, user.pk, named], salt=_FILE)
    address = reverse("file-bytes", args=[token], urlconf=settings.FILES_URLCONF)
    return f"{settings.FILES_URL}{address}"


def log_open(*, token: str) -> LogBytes:
    """The log that a signed address leads to, as it is now.

    AddressExpired or AddressUnknown if it leads nowhere; EngineError if the log cannot be read now.
    """
    key, attempt, rank, user_id = _signed(token, _LOG)
    return LogBytes(_job(key, user_id), attempt, rank)


def file_open(*, token: str) -> FileBytes:
    """The file that a signed address leads to; raises the same, and what `place_of` and reading do."""
    key, attempt, rank, user_id, named = _signed(token, _FILE)
    job = _job(key, user_id)
    if job.attempt != attempt:
        raise AddressUnknown
    return FileBytes(place_of(job=job, rank=rank, path=base64.b85decode(named)))


def _signed(token: str, salt: str) -> Any:
    try:
        return signing.loads(token, salt=salt, max_age=settings.DOWNLOAD_SECONDS)
    except signing.SignatureExpired as error:
        raise AddressExpired from error
    except signing.BadSignature as error:
        raise AddressUnknown from error


def _job(key: str, user_id: int) -> Job:
    """As the person who was given the address sees it now."""
    user = User.objects.filter(pk=user_id, is_active=True).first()
    jobs = Job.objects.for_user(user).light().select_related("pool")
    job: Job | None = jobs.filter(key=key).first() if user else None
    if job is None:
        raise AddressUnknown
    return job


class _Chunks(Iterator[bytes], ABC):
    """A seekable file of `size` bytes. It is not open between two reads; none is larger than a chunk."""

    size: int
    _at = 0

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called where it is saved."""

    @abstractmethod
    def _read(self, offset: int, limit: int) -> bytes: ...

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int) -> int:
        self._at = offset
        return offset

    def tell(self) -> int:
        return self._at

    def __next__(self) -> bytes:
        wanted = min(CHUNK_BYTES, self.size - self._at)
        if wanted <= 0:
            raise StopIteration
        data = self._read(self._at, wanted)
        if not data:
            raise EngineError(f"{self.name} ends at {self._at}, not at {self.size}")
        self._at += len(data)
        return data


class LogBytes(_Chunks):
    """A Worker's log as a seekable file of the `size` it has at first, whatever is added later.

    Logs are only ever added to, so attempt, rank and size name the bytes. EngineError if the log cannot be
    read, or has become shorter.
    """

    def __init__(self, job: Job, attempt: int, rank: int) -> None:
        self._job, self._attempt, self._rank = job, attempt, rank
        now = log_read(job=job, attempt=attempt, rank=rank, offset=0, limit=0)
        self.size, self.complete = now.size, now.complete

    @property
    def name(self) -> str:
        return f"{self._job.key}-run{self._attempt}-worker-{self._rank}.log"

    @property
    def etag(self) -> str:
        return f"{self._job.key}-{self._attempt}-{self._rank}-{self.size}"

    @property
    def modified_at(self) -> datetime | None:
        """When the last byte was written at the latest; None while more may come."""
        ended = Worker.objects.filter(
            attempt__job=self._job, attempt__number=self._attempt, rank=self._rank
        ).values_list("ended_at", flat=True)
        return ended.first() if self.complete else None

    def _read(self, offset: int, limit: int) -> bytes:
        job, attempt, rank = self._job, self._attempt, self._rank
        return log_read(job=job, attempt=attempt, rank=rank, offset=offset, limit=limit).data


class FileBytes(_Chunks):
    """A file that a Worker of a failed run has left; nothing changes it any more. It breaks off with NotKept
    when the engine drops it."""

    def __init__(self, place: Place) -> None:
        self._place = place
        now = place.bytes(0, 0)
        self.size = now.size
        self.modified_at = time_told(now.modified_at)

    @property
    def name(self) -> str:
        return readable_name(path_parts(self._place.path)[-1])

    @property
    def etag(self) -> str:
        place = self._place
        path = hashlib.sha256(place.path).hexdigest()[:32]
        return f"{place.key.job}-{place.key.attempt}-{place.rank}-{path}"

    def _read(self, offset: int, limit: int) -> bytes:
        return self._place.bytes(offset, limit).data
