"""What would come of the request, as the page shows it: one verdict, the numbers, and what to look at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from jobs.estimate import Estimate, WorkerPlace
from jobs.findings import Finding, Level
from jobs.forms.job import JobForm
from jobs.services import job_estimate
from jobs.spec import JobSpec
from jobs.texts import finding_text, reason_text

REFUSED_FOR_GOOD = ("never_fits", "over_quota")


class Verdict(StrEnum):
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
    verdict: Verdict
    reason: str
    estimate: Estimate
    notes: tuple[Note, ...]
    missing: tuple[Note, ...]
    total_of_pool: int | None
    landing: tuple[WorkerPlace, ...]

    @property
    def more_workers(self) -> int:
        """How many Workers are beyond those that are listed."""
        gpus = self.estimate.unit == "gpus"
        workers = -(-(self.estimate.wanted or 0) // 8) if gpus else self.estimate.wanted or 0
        return max(0, workers - len(self.estimate.workers))


def summary_of(form: JobForm) -> Summary:
    """Judges what the form holds. Command and name are typed last: while empty they do not
    keep the numbers from showing."""
    asked = form.job_spec()
    judged = job_estimate(user=form.user, spec=_standing_in(asked))
    found = [f for f in judged.findings if form.field_of(f.field) not in form.unclear_fields]
    wrong = [f for f in found if f.code != "required"]
    missing = [f for f in found if f.code == "required"]
    if not asked.command.strip():
        missing.append(Finding("required", "command"))
    notes = [*_unclear(form), *(_note(form, f) for f in wrong)]
    verdict, reason = _verdict(judged, notes)
    return Summary(
        verdict=verdict,
        reason=reason,
        estimate=judged,
        notes=tuple(notes),
        missing=tuple(_note(form, f) for f in missing),
        total_of_pool=next((p.total for p in form.offer.pools if p.id == asked.pool), None),
        landing=tuple(w for w in judged.workers if w.node) if verdict == Verdict.NOW else (),
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


def _verdict(judged: Estimate, notes: list[Note]) -> tuple[Verdict, str]:
    refused = next((f for f in judged.findings if f.code in REFUSED_FOR_GOOD), None)
    if refused is not None:
        return Verdict.NEVER, finding_text(refused.code, refused.data)
    if any(note.level == Level.ERROR for note in notes):
        return Verdict.WRONG, ""
    if judged.total_gpus is None:
        return Verdict.CHOOSE, ""
    if judged.reason is not None:
        return Verdict.QUEUE, reason_text(judged.reason.code, judged.reason.data)
    return Verdict.NOW, ""
