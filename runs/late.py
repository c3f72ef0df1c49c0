"""Whether somebody still looks after the jobs: the engines' tick notes when it has, and here that is read."""

from __future__ import annotations

from django.utils import timezone

from alerts.limits import limits_passed
from alerts.machine import THE_MACHINE, post_of_machine
from alerts.marks import mark_beat, mark_read
from alerts.rules import Subject

EVENT = "engine_late"
MARK = "engine"


def engine_looked() -> None:
    mark_beat(MARK)


def engine_watch() -> int:
    """Tells whoever's limit has passed since the last look at jobs, once for each such time; how many notices
    that was. To be called where the engines' queue cannot hold it up."""
    since, now = mark_read(MARK), timezone.now()
    passed = limits_passed(subject=Subject.MACHINE, subject_id=THE_MACHINE, event=EVENT, since=since, now=now)
    return sum(
        post_of_machine(
            code=EVENT,
            once=f"{since.isoformat()}:{minutes}",
            data={"minutes": minutes, "since": since.isoformat()},
            channels=channels,
        )
        for minutes, channels in passed.items()
    )
