"""What would come of the request, as the page shows it: in the card, and at the fields and sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from jobs.estimate import Estimate, estimate
from jobs.facts import Facts
from jobs.findings import Finding, Level
from jobs.forms.card import Card, Outlook, numbers_of, promise_of
from jobs.forms.creating import replaced_by
from jobs.forms.job import JobForm
from jobs.forms.nodes import drawn_of
from jobs.forms.notes import Note, beside_of, in_order, note_of, unclear_notes
from jobs.forms.offer import request_facts
from jobs.forms.points import ShownPoint, points_of, said_of_points
from jobs.forms.ranks import ranks_of
from jobs.forms.said import said_of
from jobs.forms.taking_over import offered_of
from jobs.instead import without
from jobs.neighbours import with_alternatives
from jobs.services import job_landed
from jobs.spec import JobSpec
from jobs.states import State
from jobs.texts import RULE_NOT_YET, disk_rule, finding_text, hang_rule, reason_text, restart_rule, split_text

REFUSED_FOR_GOOD = ("never_fits", "over_quota")


@dataclass(frozen=True, slots=True)
class Summary:
    """`beside` has the notes that were found by the field at which they stand, `said` a line by section,
    `rules` a sentence by what it is about."""

    card: Card
    estimate: Estimate
    beside: Mapping[str, tuple[Note, ...]]
    waiting_jobs: int | None
    said: Mapping[str, str]
    rules: Mapping[str, str]
    points: tuple[ShownPoint, ...]
    split: str  # of a custom count into Workers


def summary_of(form: JobForm) -> Summary:
    """Judges what the form holds. Command and name are typed last: while empty they do not
    keep the numbers from showing. Once creation was tried, what is missing is an error like others."""
    asked = form.job_spec()
    spec, facts = request_facts(form.user, form.offer, _standing_in(asked))
    facts = _without_replaced(form, facts)
    judged = with_alternatives(job_landed(estimate(spec, facts), spec, facts), spec, facts)
    card = _card(form, spec, facts, judged)
    points = points_of(form, judged, facts)
    return Summary(
        card=card,
        estimate=judged,
        beside=beside_of(card.found),
        waiting_jobs=sum(w.jobs for w in facts.waiting) if facts.pool else None,
        said=said_of(form, asked, facts, judged) | {"checklist": said_of_points(points)},
        rules=_rules(form, asked),
        points=points,
        split=_split(asked),
    )


def _without_replaced(form: JobForm, facts: Facts) -> Facts:
    """The job in whose place this one comes is out of the queue by then, and nobody waits behind it."""
    job = replaced_by(form)
    if job is None or job.state != State.QUEUED or facts.pool is None or facts.pool.id != job.pool_id:
        return facts
    return replace(facts, waiting=tuple(without(job, facts.waiting)))


def _rules(form: JobForm, asked: JobSpec) -> dict[str, str]:
    """What is done when a run goes wrong; no numbers are told while those of the form cannot be used."""
    rules = {
        "restart": ("max_restarts", restart_rule),
        "hang": ("hang_timeout_seconds", hang_rule),
        "disk": ("keep_after_failure_minutes", disk_rule),
    }
    return {
        name: str(RULE_NOT_YET) if field in form.unclear_fields else rule(asked)
        for name, (field, rule) in rules.items()
    }


def _card(form: JobForm, spec: JobSpec, facts: Facts, judged: Estimate) -> Card:
    asked = form.job_spec()
    found = [f for f in judged.findings if form.field_of(f.field) not in form.unclear_fields]
    wrong = [*unclear_notes(form), *(note_of(form, f) for f in found if f.code != "required")]
    missing = _missing(form, asked, found)
    outlook, reason = outlook_of(judged, wrong, waits=spec.start_policy == "queue")
    lands = outlook == Outlook.NOW
    return Card(
        outlook=outlook,
        reason=reason,
        numbers=numbers_of(judged, form.offer.total_gpus),
        promise=promise_of(outlook, judged),
        rdma_allowed=judged.rdma_allowed,
        found=tuple(in_order([*wrong, *missing] if form.after_refusal else wrong)),
        missing=() if form.after_refusal else missing,
        drawn=drawn_of([t.id for t in form.offer.teams], spec, facts, lands=lands),
        landing=tuple(w for w in judged.workers if w.node) if lands else (),
        more_workers=max(0, (judged.worker_count or 0) - len(judged.workers)),
        ranks=ranks_of(asked, judged),
        alternatives=offered_of(judged.alternatives),
    )


def _split(asked: JobSpec) -> str:
    shape = asked.shape(None)
    return split_text(shape) if asked.custom and shape else ""


def _standing_in(spec: JobSpec) -> JobSpec:
    return replace(spec, name=spec.name.strip() or "-", command=spec.command if spec.command.strip() else ":")


def _missing(form: JobForm, asked: JobSpec, found: list[Finding]) -> tuple[Note, ...]:
    typed_last = {"command": asked.command, "name": asked.name}
    empty = [Finding("required", name) for name, text in typed_last.items() if not text.strip()]
    return tuple(note_of(form, f) for f in [*(f for f in found if f.code == "required"), *empty])


def outlook_of(judged: Estimate, notes: Sequence[Note], waits: bool) -> tuple[Outlook, str]:
    """What would come of it, in a word, and why."""
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
