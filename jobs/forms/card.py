"""The card "This submission" and what stands beside the button: plain values, so that what was drawn of the
same ones is kept (see `console.templatetags.kept`)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from jobs.estimate import Estimate, QueuePlace, WorkerPlace
from jobs.findings import Level
from jobs.forms.nodes import Drawn
from jobs.forms.notes import Note
from jobs.forms.ranks import RankPreview
from jobs.forms.taking_over import Offered

SHOWN_NOTES = 3


class Outlook(StrEnum):
    CHOOSE = "choose"  # pool or spec are missing, there is nothing to say yet
    NOW = "now"
    QUEUE = "queue"
    REFUSED = "refused"  # would wait, and is not to be created then
    NEVER = "never"
    WRONG = "wrong"  # a rule is broken


class Numbers(NamedTuple):
    """GPUs, but for `startable` and `wanted`, which count in `unit`; None: not known yet."""

    total: int | None
    formula: str
    startable: int | None
    wanted: int | None
    unit: str
    idle: int | None
    of_pool: int | None
    queue: QueuePlace | None


class Verdict(NamedTuple):
    """What stands beside the button. `promise` is for the form to send back; see `JobForm.promised`."""

    outlook: Outlook
    total: int | None
    place: int | None
    promise: str
    errors: int
    warnings: int


@dataclass(frozen=True, slots=True)
class Card:
    """`found` are all check results; `landing` are the Workers whose nodes are known, `more_workers` how many
    there are beyond those that are listed."""

    outlook: Outlook
    reason: str
    numbers: Numbers
    promise: str
    rdma_allowed: bool
    found: tuple[Note, ...]
    missing: tuple[Note, ...]
    drawn: Drawn | None
    landing: tuple[WorkerPlace, ...]
    more_workers: int
    ranks: RankPreview
    alternatives: tuple[Offered, ...]

    @property
    def notes(self) -> tuple[Note, ...]:
        """What the list of check results holds: all but what stands beside the outlook already."""
        told = self.reason if self.outlook == Outlook.NEVER else None
        return tuple(note for note in self.found if note.text != told)

    @property
    def first_notes(self) -> tuple[Note, ...]:
        return self.notes[:SHOWN_NOTES]

    @property
    def more_notes(self) -> tuple[Note, ...]:
        return self.notes[SHOWN_NOTES:]

    @property
    def listed(self) -> dict[str, int]:
        """How many notes of each kind the list holds."""
        return dict(Counter(note.look for note in self.notes))

    @property
    def verdict(self) -> Verdict:
        listed, queue = self.listed, self.numbers.queue
        return Verdict(
            self.outlook,
            self.numbers.total,
            queue.position if queue else None,
            self.promise,
            listed.get(Level.ERROR, 0),
            listed.get(Level.WARNING, 0),
        )


def numbers_of(judged: Estimate, total_of_pool: int | None) -> Numbers:
    return Numbers(
        total=judged.total_gpus,
        formula=_formula(judged),
        startable=judged.startable,
        wanted=judged.wanted,
        unit=judged.unit,
        idle=judged.idle_gpus,
        of_pool=total_of_pool,
        queue=judged.queue,
    )


def _formula(judged: Estimate) -> str:
    """How the total comes about, where there is something to multiply."""
    if judged.unit == "gpus" or not judged.total_gpus or not judged.workers:
        return ""
    return f"{judged.workers[0].gpus} × {judged.worker_count}"


def promise_of(outlook: Outlook, judged: Estimate) -> str:
    queue, reason = judged.queue, judged.reason
    if outlook == Outlook.NOW:
        return "now"
    if outlook != Outlook.QUEUE or queue is None or reason is None:
        return ""
    return f"place-{queue.position}-{reason.code}"
