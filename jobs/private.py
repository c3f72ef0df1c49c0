"""Values of private variables: kept encrypted, and read by the person who entered them alone."""

from __future__ import annotations

from functools import reduce
from operator import or_

from django.db.models import Q

from jobs.models import Job, PrivateValue
from jobs.spec import JobSpec
from jobs.vault import InvalidToken, decrypt, encrypt
from teams.models import User


def private_read(*, job: Job, user: User) -> dict[str, str | None]:
    """The private variables that the user entered; None where no key of the console opens one any more."""
    if not any(variable["private"] for variable in job.request["env"]):
        return {}
    return {v.name: _opened(v.ciphertext) for v in job.private_values.filter(owner=user)}


def private_store(*, job: Job, user: User, spec: JobSpec) -> None:
    """Keeps the private values of a job that was just made. A value taken from an earlier job is copied
    unread, and stays its owner's; the rules have judged whether it may be."""
    entered = [
        PrivateValue(job=job, owner=user, name=v.name, ciphertext=encrypt(v.value or ""))
        for v in spec.env
        if v.private and v.from_job is None
    ]
    PrivateValue.objects.bulk_create([*entered, *_copies(job, spec)])


def _copies(job: Job, spec: JobSpec) -> list[PrivateValue]:
    wanted = [Q(job__key=v.from_job, name=v.name) for v in spec.env if v.private and v.from_job]
    if not wanted:
        return []
    sources = PrivateValue.objects.filter(reduce(or_, wanted))
    copies = [
        PrivateValue(job=job, owner_id=s.owner_id, name=s.name, ciphertext=s.ciphertext) for s in sources
    ]
    if len(copies) != len(wanted):
        raise RuntimeError("a valid request takes private values that are there")
    return copies


def _opened(ciphertext: bytes | memoryview) -> str | None:
    try:
        return decrypt(ciphertext)
    except InvalidToken:
        return None
