"""The last lines that a job wrote, as they may be sent to somebody: without what is private."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from django.utils.translation import gettext

from alerts.signs import without_controls
from engines.base import EngineError
from jobs.models import Job
from runs.logs import log_read
from runs.terminal import readable
from teams.vault import InvalidToken, decrypt

logger = logging.getLogger(__name__)

MOST_LINES = 20
TAIL_BYTES = 64 * 2**10
LONGEST_LINE = 500  # characters; of a longer line its beginning
LEAST_HIDDEN = 4  # bytes of UTF-8: a shorter value is in every text
HIDDEN = "•••"


def last_lines(job: Job, attempt: int, rank: int) -> tuple[str, ...]:
    """Of a Worker, oldest first; none where they cannot be read, for whatever reason, or where a private
    value cannot be, so that nobody could tell whether it is in them. They must not cost the alert itself."""
    try:
        values = private_values(job)
        chunk = log_read(job=job, attempt=attempt, rank=rank, offset=-TAIL_BYTES, limit=TAIL_BYTES)
        return lines_of(chunk.data, values, cut=chunk.offset > 0)
    except (EngineError, InvalidToken):
        return ()
    except Exception:
        logger.exception("job %s: its last lines cannot be told", job.pk)
        return ()


def tail_read(job: Job, attempt: int, rank: int, lines: int) -> str:
    """The last lines of a Worker as it wrote them, for somebody who may read its log; empty where it cannot
    be read."""
    try:
        chunk = log_read(job=job, attempt=attempt, rank=rank, offset=-TAIL_BYTES, limit=TAIL_BYTES)
    except EngineError:
        return ""
    text = readable(chunk.data)
    whole = text.partition("\n")[2] or text if chunk.offset > 0 else text  # of a very long line its end
    return "\n".join(whole.rstrip("\n").split("\n")[-lines:])


def private_values(job: Job) -> list[str]:
    """InvalidToken if no key of the console opens one."""
    return [decrypt(row) for row in job.private_values.values_list("ciphertext", flat=True)]


def lines_of(data: bytes, values: Iterable[str], *, cut: bool) -> tuple[str, ...]:
    """The last lines of output. One whose beginning is `cut` off is none: a part of a value may be in it."""
    text = without_controls(readable(data))
    if cut:
        rest = text.partition("\n")[2]
        if text.strip() and not rest.strip():
            return (gettext("(a line of more than %(size)s KB is left out)") % {"size": len(data) // 2**10},)
        text = rest
    text = hidden(text, values)
    lines = [line.rstrip() for line in text.rstrip().split("\n")[-MOST_LINES:]]
    return tuple(line[:LONGEST_LINE] for line in lines) if any(lines) else ()


def hidden(text: str, values: Iterable[str]) -> str:
    """The text, which holds no sign that a message would not, without the values, and of one of several lines
    without each of them."""
    shown = [without_controls(readable(value.encode())) for value in values]
    parts = {part.strip() for value in shown for part in (value, *value.split("\n"))}
    for part in sorted(parts, key=len, reverse=True):
        if len(part.encode()) >= LEAST_HIDDEN:
            text = text.replace(part, HIDDEN)
    return text
