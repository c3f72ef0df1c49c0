"""What may be told of, who asked for it, and when a delivery is tried again. Plain values."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class Subject(StrEnum):
    """What a notice is about, and what a rule watches."""

    JOB = "job"
    PERSON = "person"  # of rules alone: the ones that a person's new jobs begin with
    POOL = "pool"
    MACHINE = "machine"
    CHANNEL = "channel"


class Kind(StrEnum):
    EMAIL = "email"
    WEBHOOK = "webhook"
    FEISHU = "feishu"
    DINGTALK = "dingtalk"
    WECOM = "wecom"
    SLACK = "slack"
    TEAMS = "teams"
    APPRISE = "apprise"


SIGNED = frozenset({Kind.WEBHOOK, Kind.FEISHU, Kind.DINGTALK})  # kinds to which a secret belongs
JOB_EVENTS = (
    *("running", "succeeded", "failed", "stopped", "restarted", "restarts_used_up"),
    *("hang_suspected", "hang", "env_check_failed", "node_fault"),
)
TIMED_JOB_EVENTS = ("queued_too_long", "deploying_too_long", "running_too_long")
POOL_EVENTS = ("node_down", "node_drained", "prepaid_ending", "queue_stuck")
MACHINE_EVENTS = ("engine_late", "disk_nearly_full")
TIMED_EVENTS = frozenset({*TIMED_JOB_EVENTS, "queue_stuck", "engine_late"})
TEST = "test"
CHANNEL_DISABLED = "channel_disabled"
CHANNEL_UNSHARED, CHANNEL_GONE = "channel_unshared", "channel_gone"

EVENTS_OF = {
    Subject.JOB: (*JOB_EVENTS, *TIMED_JOB_EVENTS),
    Subject.PERSON: (*JOB_EVENTS, *TIMED_JOB_EVENTS),
    Subject.POOL: POOL_EVENTS,
    Subject.MACHINE: MACHINE_EVENTS,
}

LEAST_MINUTES, MOST_MINUTES = 1, 60 * 24 * 90

# After each of the first tries; they end within about an hour.
PAUSES = tuple(timedelta(seconds=s) for s in (10, 30, 60, 120, 300, 600, 900, 1200))
MOST_TRIES = len(PAUSES) + 1
OLDEST = timedelta(hours=6)  # what is older has one try: a dead receiver's backlog comes to an end
MOST_REFUSALS = 3  # permanent errors one after the other, then the channel is disabled


class State(StrEnum):
    """Of a delivery. `waiting` includes one that is on its way: what it waits for then is the lease's end."""

    WAITING = "waiting"
    SENT = "sent"
    REFUSED = "refused"  # the receiver said that it never will take this
    GIVEN_UP = "given_up"  # tried for as long as it makes sense
    DROPPED = "dropped"  # its channel is disabled, or gone


@dataclass(frozen=True, slots=True)
class Watch:
    """A rule: the channel is told of these events. `minutes` is the limit of the timed one among them."""

    channel: int
    events: tuple[str, ...]
    minutes: int | None = None

    def tells(self, codes: Collection[str]) -> bool:
        return any(code in codes and code not in TIMED_EVENTS for code in self.events)


def channels_told(watches: Iterable[Watch], codes: Collection[str]) -> list[int]:
    """The channels that are told of something that all these codes name, each once."""
    return list(dict.fromkeys(watch.channel for watch in watches if watch.tells(codes)))


def pause_after(tries: int, code: str, age: timedelta) -> timedelta | None:
    """How long to wait after that many failed tries to tell of something so long ago; None: it is given up. A
    test is tried once."""
    return None if code == TEST or age > OLDEST or tries > len(PAUSES) else PAUSES[tries - 1]
