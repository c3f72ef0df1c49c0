"""The form of a modified rerun: the fields that one may change, and what would come of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import uuid4

from django.utils.datastructures import MultiValueDict

from jobs.findings import Level
from jobs.forms.card import Numbers, Outlook, Verdict, numbers_of, promise_of
from jobs.forms.job import JobForm
from jobs.forms.notes import Note, beside_of, in_order, note_of, unclear_notes
from jobs.forms.offer import offer_read
from jobs.forms.start import Values, asked_values
from jobs.forms.summary import outlook_of
from jobs.forms.variables import Data, row_values
from jobs.models import Job
from jobs.private import private_read
from jobs.repeating import rerun_estimate
from jobs.rerun import HANG, NOTHING, Changes, Repeater, rerun_of
from jobs.spec import EnvVar, JobSpec, unix_newlines
from jobs.texts import change_text
from teams.models import User

RESOURCES = ("spec", "worker_count", "custom", "custom_gpus", "flavor")
SHOWN = ("command", "image", *RESOURCES, *HANG)
TYPED = (*SHOWN, "token", "promise", "tried")


@dataclass(slots=True)
class PrivateRow:
    """A private variable: `value` is what its field holds; one that is not the viewer's own is `kept` unread
    while nothing is typed."""

    name: str
    value: str
    kept: bool
    errors: list[str] = field(default_factory=list)


class RerunForm(JobForm):
    """What was typed becomes changes of the job's request; all else is as it was frozen, sign by sign."""

    def __init__(self, user: User, job: Job, posted: Data | None) -> None:
        self.job, self.asked = job, job.spec_to_repeat
        own = private_read(job=job, user=user)
        typed = _private_typed(posted)
        self._own = {name: value for name, value in own.items() if value is not None}
        self.typed = {v.name: typed.get(v.name, self._own.get(v.name, "")) for v in self._private()}
        self.entered = tuple(self._entered())
        self.changes = NOTHING
        values = _values(self.asked, posted) | row_values(self._rows_of_env())
        offer = offer_read(user, self.asked.team, self.asked.pool)
        super().__init__(user, MultiValueDict(values), offer)

    def private_rows(self) -> list[PrivateRow]:
        errors = {row.left: row.errors for row in self.variables.rows}
        return [
            PrivateRow(name, value, name not in self._own, errors.get(name, []))
            for name, value in self.typed.items()
        ]

    def shows(self, name: str) -> bool:
        return name in SHOWN

    def anchor_of(self, path: str) -> str:
        """Nothing for what is not on this page."""
        return super().anchor_of(path) if self.shows(self.field_of(path)) else ""

    def _request(self) -> JobSpec:
        typed = super()._request()
        self.changes = Changes(self._changed(typed), self.entered)
        offer = self.offer
        repeater = Repeater(offer.may_use_high, {channel.id for channel in offer.channels})
        rerun = rerun_of(self.asked, self.job.key, self.changes, offer.pool, repeater)
        return rerun.spec

    def _changed(self, typed: JobSpec) -> dict[str, Any]:
        """What is not as in the job. A text area gives back other line ends than it was given."""
        asked = self.asked
        changed = {name: getattr(typed, name) for name in ("image",) if typed.image != asked.image}
        if _one_kind_of_ends(typed.command) != _one_kind_of_ends(asked.command):
            changed["command"] = typed.command
        for name in HANG if typed.hang_detection else HANG[:1]:
            emptied = name != HANG[0] and self.cleaned_data.get(name) in (None, "")
            if getattr(typed, name) != getattr(asked, name) and not emptied:
                changed[name] = getattr(typed, name)
        return changed | self._resources(typed)

    def _resources(self, typed: JobSpec) -> dict[str, Any]:
        asked = self.asked
        if typed.custom:
            flavor = typed.flavor if len(self.offer.flavors) > 1 else asked.flavor
            same = (typed.custom_gpus, flavor) == (asked.custom_gpus, asked.flavor)
            return {} if same else {"custom_gpus": typed.custom_gpus, "flavor": flavor}
        if asked.custom:
            return {"custom_gpus": None, "spec": typed.spec, "worker_count": typed.worker_count}
        changed: dict[str, Any] = {} if typed.spec == asked.spec else {"spec": typed.spec}
        if typed.worker_count != asked.workers_wanted:
            changed["worker_count"] = typed.worker_count
        return changed

    def _private(self) -> list[EnvVar]:
        return [variable for variable in self.asked.env if variable.private]

    def _entered(self) -> Iterator[EnvVar]:
        for name, text in self.typed.items():
            if _one_kind_of_ends(text) != _one_kind_of_ends(self._own.get(name, "")):
                yield EnvVar(name, unix_newlines(text), True)

    def _rows_of_env(self) -> Iterator[EnvVar]:
        entered = {variable.name: variable for variable in self.entered}
        for v in self.asked.env:
            kept = EnvVar(v.name, None, True, self.job.key) if v.private else v
            yield entered.get(v.name, kept)


@dataclass(frozen=True)
class Outcome:
    """What would come of the rerun; `follows` are sentences."""

    outlook: Outlook
    reason: str
    numbers: Numbers
    promise: str
    notes: Sequence[Note]
    follows: Sequence[str]

    @cached_property
    def beside(self) -> dict[str, tuple[Note, ...]]:
        """The notes by their fields."""
        return beside_of(self.notes)

    @property
    def noted(self) -> list[tuple[str, tuple[Note, ...]]]:
        """Of each field of the page its notes."""
        return [(name, self.beside.get(name, ())) for name in SHOWN if name != "custom"]

    @property
    def verdict(self) -> Verdict:
        queue = self.numbers.queue
        looks = [note.look for note in self.notes]
        place = queue.position if queue else None
        errors, warnings = looks.count(Level.ERROR), looks.count(Level.WARNING)
        return Verdict(self.outlook, self.numbers.total, place, self.promise, errors, warnings)


def outcome_of(form: RerunForm) -> Outcome:
    judged, rerun = rerun_estimate(user=form.user, job=form.job, changes=form.changes)
    notes = [*unclear_notes(form), *(note_of(form, f) for f in judged.findings if _clear(form, f.field))]
    outlook, reason = outlook_of(judged, notes, waits=rerun.spec.start_policy == "queue")
    return Outcome(
        outlook,
        reason,
        numbers_of(judged, form.offer.total_gpus),
        promise_of(outlook, judged),
        in_order(_untold(notes, reason)),
        [change_text(change.code, change.data) for change in rerun.follows],
    )


def _clear(form: RerunForm, path: str) -> bool:
    return form.field_of(path) not in form.unclear_fields


def _untold(notes: Sequence[Note], reason: str) -> list[Note]:
    return [note for note in notes if note.text != reason]


def _values(asked: JobSpec, posted: Data | None) -> Values:
    """The form's values: of the job, with those that were typed in the place of those that can be."""
    values = {"team": [asked.team or ""], **asked_values(asked), "token": [str(uuid4())]}
    if posted is None:
        return values
    kept = {name: of_job for name, of_job in values.items() if name not in TYPED}
    return kept | {name: posted.getlist(name) for name in TYPED if name in posted}


def _private_typed(posted: Data | None) -> dict[str, str]:
    if posted is None:
        return {}
    pairs = zip(posted.getlist("private_name"), posted.getlist("private_value"), strict=False)
    return dict(pairs)


def _one_kind_of_ends(text: str) -> str:
    return unix_newlines(text).replace("\r", "\n")
