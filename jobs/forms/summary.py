"""What would come of the request, as the page shows it: one outlook, the numbers, and what to look at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from jobs.estimate import Estimate, WorkerPlace, estimate
from jobs.findings import Finding, Level
from jobs.forms.job import JobForm
from jobs.forms.offer import request_facts
from jobs.spec import JobSpec
from jobs.texts import finding_text, reason_text

REFUSED_FOR_GOOD = ("never_fits", "over_quota")


class Outlook(StrEnum):
    CHOOSE = "choose"  # pool or spec are missing, there is nothing to say yet
    NOW = "now"
    QUEUE = "queue"
    NEVER = "never"
    WRONG = "wrong"  # a rule is broken


@dataclass(frozen=True, slots=True)
class Note:
    """A check result with where to look."""

    level: str
    label: str
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class Summary:
    outlook: Outlook
    reason: str
    estimate: Estimate
    notes: tuple[Note, ...]
    missing: tuple[Note, ...]
    total_of_pool: int | None
    landing: tuple[WorkerPlace, ...]

    @property
    def more_workers(self) -> int:
        """How many Workers are beyond those that are listed."""
        return max(0, (self.estimate.worker_count or 0) - len(self.estimate.workers))


def summary_of(form: JobForm) -> Summary:
    """Judges what the form holds. Command and name are typed last: while empty they do not
    keep the numbers from showing."""
    asked = form.job_spec()
    judged = estimate(*request_facts(form.offer, _standing_in(asked)))
    found = [f for f in judged.findings if form.field_of(f.field) not in form.unclear_fields]
    wrong = [f for f in found if f.code != "required"]
    missing = [f for f in found if f.code == "required"]
    typed_last = {"command": asked.command, "name": asked.name}
    missing += [Finding("required", name) for name, text in typed_last.items() if not text.strip()]
    notes = [*_unclear(form), *(_note(form, f) for f in wrong)]
    outlook, reason = _outlook(judged, notes)
    told = outlook == Outlook.NEVER  # its reason stands beside the outlook
    return Summary(
        outlook=outlook,
        reason=reason,
        estimate=judged,
        notes=tuple(note for note in notes if not (told and note.text == reason)),
        missing=tuple(_note(form, f) for f in missing),
        total_of_pool=form.offer.total_gpus,
        landing=tuple(w for w in judged.workers if w.node) if outlook == Outlook.NOW else (),
    )


def _standing_in(spec: JobSpec) -> JobSpec:
    return replace(spec, name=spec.name.strip() or "-", command=spec.command if spec.command.strip() else ":")


def _note(form: JobForm, finding: Finding) -> Note:
    text = finding_text(finding.code, finding.data)
    return Note(str(finding.level), form.label_of(finding.field), form.anchor_of(finding.field), text)


def _unclear(form: JobForm) -> list[Note]:
    return [
        Note(str(Level.ERROR), form.label_of(name), form.anchor_of(name), text) for name, text in form.unclear
    ]


def _outlook(judged: Estimate, notes: list[Note]) -> tuple[Outlook, str]:
    refused = next((f for f in judged.findings if f.code in REFUSED_FOR_GOOD), None)
    if refused is not None:
        return Outlook.NEVER, finding_text(refused.code, refused.data)
    if any(note.level == Level.ERROR for note in notes):
        return Outlook.WRONG, ""
    if judged.total_gpus is None:
        return Outlook.CHOOSE, ""
    if judged.reason is not None:
        return Outlook.QUEUE, reason_text(judged.reason.code, judged.reason.data)
    return Outlook.NOW, ""
