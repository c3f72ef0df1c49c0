"""Creating calls and forms that may be sent again safely.

A call first claims its key in a transaction of its own, so that a repetition at the same time is
told to wait. The claim is settled in the transaction that creates the job: whoever dies in between
leaves a claim without a job, which may be taken over after a minute.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from jobs.estimate import read_ahead
from jobs.models import IdempotencyKey, Job
from jobs.spec import JobSpec
from teams.models import User

KEPT = timedelta(days=1)
CLAIM = timedelta(minutes=1)  # a call that takes longer has died


class OtherBody(Exception):
    """The key was used before, for another request."""


class UnderWay(Exception):
    """The first call with this key has not ended yet."""


@dataclass(frozen=True, slots=True)
class Call:
    """What makes two calls the same."""

    user: User
    path: str
    key: str
    body: Any

    @property
    def digest(self) -> str:
        """Of the parsed body: blanks and the order of fields do not count."""
        return _digest(self.body)


def claim(call: Call) -> IdempotencyKey:
    """The row of the call: with an answer if it was settled before, else claimed for this call now.

    OtherBody, UnderWay.
    """
    now = timezone.now()
    mine = IdempotencyKey.objects.filter(user=call.user, path=call.path, key=call.key)
    _expired(call.user, now).delete()
    try:
        with transaction.atomic():
            return IdempotencyKey.objects.create(
                user=call.user, path=call.path, key=call.key, body_hash=call.digest, created_at=now
            )
    except IntegrityError:
        row = mine.first()
    if row is None:
        raise UnderWay  # given up by the first call at this moment
    if row.body_hash != call.digest:
        raise OtherBody
    if row.status is None:
        if row.created_at > now - CLAIM or not _unsettled(row).update(created_at=now):
            raise UnderWay
        row.created_at = now
    return row


def settle(row: IdempotencyKey, status: int, answer: Mapping[str, Any]) -> None:
    """Keeps the answer. To be called in the transaction that did the work; UnderWay undoes that work
    if the claim was lost to another call meanwhile."""
    if not _unsettled(row).update(status=status, answer=answer):
        raise UnderWay


def give_up(row: IdempotencyKey) -> None:
    """The call came to nothing: the next one with this key is a first one."""
    _unsettled(row).delete()


@dataclass(frozen=True, slots=True)
class Sent:
    """A form as it was sent: whose, to where, with which one-time token, and what was typed into it."""

    user: User
    path: str
    token: str
    typed: Mapping[str, Sequence[str]]


def job_create_once(sent: Sent, spec: JobSpec, make: Callable[[], Job]) -> tuple[Job, bool]:
    """The job that `make` made of a filled form, and whether this call did. The same form sent again within a
    day, or twice at a time, finds the job of the first; the form changed after Back is another one.

    What `make` raises goes through; nothing is remembered then. `spec` is what it is going to judge.
    """
    read_ahead(spec)
    user, now, digest = sent.user, timezone.now(), _digest(sent.typed)
    with transaction.atomic():
        _expired(user, now).delete()
        row, first = IdempotencyKey.objects.get_or_create(
            user=user,
            path=sent.path,
            key=f"{sent.token or uuid4()}/{digest}",
            defaults={"body_hash": digest, "created_at": now},
        )
        if first:
            job = make()
            row.status, row.answer = 303, {"id": job.key}
            row.save(update_fields=["status", "answer"])
            return job, True
    return Job.objects.get(key=(row.answer or {}).get("id")), False


def _digest(body: Any) -> str:
    """Keyed, as a body holds secrets."""
    text = json.dumps(body, sort_keys=True)
    return salted_hmac("jobs.idempotency", text, algorithm="sha256").hexdigest()


def _expired(user: User, now: datetime) -> QuerySet[IdempotencyKey]:
    return IdempotencyKey.objects.filter(user=user, created_at__lt=now - KEPT)


def _unsettled(row: IdempotencyKey) -> Any:
    """The claim, as long as it is still ours."""
    return IdempotencyKey.objects.filter(pk=row.pk, status=None, created_at=row.created_at)
