"""Which job a job was made from, and what was changed in between: for whoever may see both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from jobs.alerting import names_read
from jobs.difference import Asked, Difference, differences
from jobs.models import Job, PrivateValue
from jobs.states import OriginKind
from teams.models import User

MOST_COPIES = 5


@dataclass(frozen=True, slots=True)
class OriginShown:
    """The id and name of the earlier job, how the new one was made of it, and what it asks for instead."""

    id: str
    name: str
    kind: OriginKind
    differences: tuple[Difference, ...]
    channels: Mapping[int, str]  # the names of those that the reader may see


def origin_read(*, job: Job, user: User) -> OriginShown | None:
    """None where there is none, and where the user does not see it: it may be another team's."""
    if job.origin_id is None:
        return None
    origin = Job.objects.for_user(user).select_related("team").filter(pk=job.origin_id).first()
    if origin is None:
        return None
    asked = [_asked(one) for one in (origin, job)]
    channels = names_read(user, (alert for one in asked for alert in one.spec.alerts or ()))
    old, new = (replace(one, channels=channels) for one in asked)
    found = differences(old, new, _kept(origin, job))
    return OriginShown(origin.key, origin.name, OriginKind(job.origin_kind), found, channels)


def copies_read(*, job: Job, user: User) -> Sequence[Job]:
    """The latest jobs that were made from this one, as far as the user sees them."""
    copies = Job.objects.for_user(user).light().filter(origin=job).order_by("-pk")
    return list(copies[:MOST_COPIES])


def _asked(job: Job) -> Asked:
    return Asked(job.spec_to_repeat, job.frozen | {"team": {"name": job.team.name}})


def _kept(origin: Job, job: Job) -> set[str]:
    """A value that was taken over lies encrypted as it lay there, sign by sign: encrypting the same text
    again gives another one."""
    if not any(v.private for v in job.spec_asked.env):
        return set()
    rows = PrivateValue.objects.filter(job__in=[origin, job]).values_list("job", "name", "ciphertext")
    found = {(pk, name): bytes(ciphertext) for pk, name, ciphertext in rows}
    return {
        name for (pk, name), text in found.items() if pk == job.pk and found.get((origin.pk, name)) == text
    }
