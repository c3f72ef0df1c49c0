"""What would come of the request, as the page shows it: one outlook, the numbers, and what to look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from jobs.estimate import Estimate, QueuePlace, WorkerPlace, estimate
from jobs.findings import Finding, Level
from jobs.forms.job import JobForm
from jobs.forms.nodes import Drawn, drawn_of
from jobs.forms.notes import Note, in_order, note_of, unclear_notes
from jobs.forms.offer import request_facts
from jobs.forms.points import ShownPoint, points_of, said_of_points
from jobs.forms.ranks import RankPreview, ranks_of
from jobs.forms.said import said_of
from jobs.forms.taking_over import Offered, offered_of
from jobs.neighbours import with_alternatives
from jobs.services import job_landed
from jobs.spec import JobSpec
from jobs.texts import finding_text, hang_rule, reason_text, restart_rule, split_text

REFUSED_FOR_GOOD = ("never_fits", "over_quota")
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


@dataclass(frozen=True, slots=True)
class Summary:
    """`beside` has the notes that were found by the field at which they stand."""

    outlook: Outlook
    reason: str
    estimate: Estimate
    found: tuple[Note, ...]
    beside: Mapping[str, tuple[Note, ...]]
    missing: tuple[Note, ...]
    total_of_pool: int | None
    landing: tuple[WorkerPlace, ...]
    waiting_jobs: int | None
    said: dict[str, str]
    rules: dict[str, str]
    drawn: Drawn | None
    points: tuple[ShownPoint, ...]
    ranks: RankPreview
    alternatives: tuple[Offered, ...]
    split: str  # of a custom count into Workers

    @property
    def formula(self) -> str:
        """How the total comes about, where there is something to multiply."""
        if self.estimate.unit == "gpus" or not self.estimate.total_gpus or not self.estimate.workers:
            return ""
        return f"{self.estimate.workers[0].gpus} × {self.estimate.worker_count}"

    @property
    def more_workers(self) -> int:
        """How many Workers are beyond those that are listed."""
        return max(0, (self.estimate.worker_count or 0) - len(self.estimate.workers))

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
    def errors(self) -> int:
        return sum(note.look == Level.ERROR for note in self.notes)

    @property
    def warnings(self) -> int:
        return sum(note.look == Level.WARNING for note in self.notes)

    @property
    def listed(self) -> dict[str, int]:
        """How many notes of each kind the list holds."""
        return dict(Counter(note.look for note in self.notes))

    @property
    def numbers(self) -> Numbers:
        judged = self.estimate
        return Numbers(
            total=judged.total_gpus,
            formula=self.formula,
            startable=judged.startable,
            wanted=judged.wanted,
            unit=judged.unit,
            idle=judged.idle_gpus,
            of_pool=self.total_of_pool,
            queue=judged.queue,
        )

    @property
    def promise(self) -> str:
        """What the page shows beside the button, for the form to send back; see `JobForm.promised`."""
        if self.outlook == Outlook.NOW:
            return "now"
        queue, reason = self.estimate.queue, self.estimate.reason
        if self.outlook != Outlook.QUEUE or queue is None or reason is None:
            return ""
        return f"place-{queue.position}-{reason.code}"


def summary_of(form: JobForm) -> Summary:
    """Judges what the form holds. Command and name are typed last: while empty they do not
    keep the numbers from showing. Once creation was tried, what is missing is an error like others."""
    asked = form.job_spec()
    spec, facts = request_facts(form.user, form.offer, _standing_in(asked))
    judged = with_alternatives(job_landed(estimate(spec, facts), spec, facts), spec, facts)
    found = [f for f in judged.findings if form.field_of(f.field) not in form.unclear_fields]
    wrong = [*unclear_notes(form), *(note_of(form, f) for f in found if f.code != "required")]
    missing = _missing(form, asked, found)
    outlook, reason = _outlook(judged, wrong, waits=spec.start_policy == "queue")
    points = points_of(form, judged, facts)
    notes = in_order([*wrong, *missing] if form.after_refusal else wrong)
    return Summary(
        outlook=outlook,
        reason=reason,
        estimate=judged,
        found=tuple(notes),
        beside=_beside(notes),
        missing=() if form.after_refusal else missing,
        total_of_pool=form.offer.total_gpus,
        landing=tuple(w for w in judged.workers if w.node) if outlook == Outlook.NOW else (),
        waiting_jobs=sum(w.jobs for w in facts.waiting) if facts.pool else None,
        said=said_of(form, asked, facts, judged) | {"checklist": said_of_points(points)},
        rules={"restart": restart_rule(asked), "hang": hang_rule(asked)},
        drawn=drawn_of([t.id for t in form.offer.teams], spec, facts, lands=outlook == Outlook.NOW),
        points=points,
        ranks=ranks_of(asked, judged),
        alternatives=offered_of(judged.alternatives),
        split=_split(asked),
    )


def _beside(notes: Iterable[Note]) -> dict[str, tuple[Note, ...]]:
    found: dict[str, list[Note]] = {}
    for note in notes:
        found.setdefault(note.field, []).append(note)
    return {field: tuple(of_field) for field, of_field in found.items()}


def _split(asked: JobSpec) -> str:
    shape = asked.shape(None)
    return split_text(shape) if asked.custom and shape else ""


def _standing_in(spec: JobSpec) -> JobSpec:
    return replace(spec, name=spec.name.strip() or "-", command=spec.command if spec.command.strip() else ":")


def _missing(form: JobForm, asked: JobSpec, found: list[Finding]) -> tuple[Note, ...]:
    typed_last = {"command": asked.command, "name": asked.name}
    empty = [Finding("required", name) for name, text in typed_last.items() if not text.strip()]
    return tuple(note_of(form, f) for f in [*(f for f in found if f.code == "required"), *empty])


def _outlook(judged: Estimate, notes: list[Note], waits: bool) -> tuple[Outlook, str]:
    refused = next((f for f in judged.findings if f.code in REFUSED_FOR_GOOD), None)
    if refused is not None:
        return Outlook.NEVER, finding_text(refused.code, refused.data)
    if any(note.look == Level.ERROR for note in notes):
        return Outlook.WRONG, ""
    if judged.total_gpus is None or judged.startable is None:
        return Outlook.CHOOSE, ""
    if judged.reason is not None:
        outlook = Outlook.QUEUE if waits else Outlook.REFUSED
        return outlook, reason_text(judged.reason.code, judged.reason.data)
    return Outlook.NOW, ""
