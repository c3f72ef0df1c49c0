"""Values of private variables, for the person who entered them."""

from __future__ import annotations

from jobs.models import Job
from jobs.vault import InvalidToken, decrypt
from teams.models import User


def private_read(*, job: Job, user: User) -> dict[str, str | None]:
    """The private variables that the user entered; None where no key of the console opens one any more."""
    if not any(variable["private"] for variable in job.request["env"]):
        return {}
    return {v.name: _opened(v.ciphertext) for v in job.private_values.filter(owner=user)}


def _opened(ciphertext: bytes | memoryview) -> str | None:
    try:
        return decrypt(ciphertext)
    except InvalidToken:
        return None
