"""Downloads of logs: signed addresses that live for minutes, and the bytes behind them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core import signing
from django.urls import reverse

from engines.base import EngineError
from jobs.models import Job, Worker
from runs.logs import log_read
from teams.models import User

CHUNK_BYTES = 2**18  # a server keeps a few of them for a client that is slow to take them
_SALT = "runs.log-download"


class AddressExpired(Exception):
    """The address was good once."""


class AddressUnknown(Exception):
    """The address was never given out, or leads to what its user may not see any more."""


def log_address(*, user: User | AnonymousUser, job: Job, attempt: int, rank: int) -> str:
    """Where `user` can fetch a Worker's log for the next DOWNLOAD_SECONDS, without any further credential."""
    token = signing.dumps([job.key, attempt, rank, user.pk], salt=_SALT)
    path = reverse("log-bytes", args=[token], urlconf=settings.FILES_URLCONF)
    return f"{settings.FILES_URL}{path}"


def log_open(*, token: str) -> LogBytes:
    """The log that a signed address leads to, as it is now.

    AddressExpired or AddressUnknown if it leads nowhere; EngineError if the log cannot be read now.
    """
    try:
        key, attempt, rank, user_id = signing.loads(token, salt=_SALT, max_age=settings.DOWNLOAD_SECONDS)
    except signing.SignatureExpired as error:
        raise AddressExpired from error
    except signing.BadSignature as error:
        raise AddressUnknown from error
    user = User.objects.filter(pk=user_id, is_active=True).first()
    jobs = Job.objects.for_user(user).light().select_related("pool")
    job = jobs.filter(key=key).first() if user else None
    if job is None:
        raise AddressUnknown
    return LogBytes(job, attempt, rank)


class LogBytes(Iterator[bytes]):
    """A Worker's log as a seekable file of the `size` it has at first, whatever is added later.

    Logs are only ever added to, so attempt, rank and size name the bytes. No file stays open between two
    reads, and none is larger than a chunk. EngineError if the log cannot be read, or has become shorter.
    """

    def __init__(self, job: Job, attempt: int, rank: int) -> None:
        self._job, self._attempt, self._rank = job, attempt, rank
        now = log_read(job=job, attempt=attempt, rank=rank, offset=0, limit=0)
        self.size, self.complete = now.size, now.complete
        self._at = 0

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
        chunk = log_read(job=self._job, attempt=self._attempt, rank=self._rank, offset=self._at, limit=wanted)
        if not chunk.data:
            raise EngineError(f"{self.name} ends at {chunk.size}, not at {self.size}")
        self._at += len(chunk.data)
        return chunk.data
