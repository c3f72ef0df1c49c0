"""Values of private variables: kept encrypted, and read by the person who entered them alone."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Case, F, OuterRef, Q, QuerySet, Subquery, When

from jobs.facts import SourceFacts
from jobs.models import Job, PrivateValue
from jobs.rules.private import runs_the_same
from jobs.spec import JobSpec, is_job_key
from teams.models import User
from teams.vault import InvalidToken, decrypt, encrypt, readable


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


def sources_read(spec: JobSpec, user: User, zone: int | None) -> dict[str, SourceFacts]:
    """The jobs from which private values are to be taken; asks nothing where none are. `zone` is that of the
    pool asked for: in another one the same paths may hold something else."""
    keys = {v.from_job for v in spec.env if v.from_job and is_job_key(v.from_job)}
    if not keys:
        return {}
    unchanged: dict[str, bool] = {}
    owners: dict[str, dict[str, int]] = {}
    lost: dict[str, set[str]] = {}
    for key, request, place, name, owner, ciphertext in _source_rows(keys, user):
        if request is not None:
            same_zone = zone is None or zone == place
            unchanged[key] = same_zone and runs_the_same(spec, JobSpec.from_json(request), key)
        owners.setdefault(key, {})[name] = owner
        lost.setdefault(key, set()).update(() if readable(ciphertext) else (name,))
    return {key: SourceFacts(unchanged[key], owners[key], lost[key]) for key in owners}


def _source_rows(keys: Collection[str], user: User) -> QuerySet[PrivateValue, Any]:
    """A row for each private value; the request, which may be long, is in one row of each job."""
    first = PrivateValue.objects.filter(job=OuterRef("job")).order_by("name").values("pk")[:1]
    values = PrivateValue.objects.filter(job__in=Job.objects.for_user(user), job__key__in=keys)
    return values.annotate(request=Case(When(pk=Subquery(first), then=F("job__request")))).values_list(
        "job__key", "request", "job__pool__zone", "name", "owner", "ciphertext"
    )
