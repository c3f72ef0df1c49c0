"""Check results as the page shows them: where to look, how certain they are, and what would settle them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace

from django import forms
from django.utils.translation import gettext_lazy, pgettext

from jobs.findings import Finding, Fix, Level
from jobs.forms.job import JobForm
from jobs.spec import JobSpec
from jobs.texts import finding_text

LEVELS = (Level.ERROR, Level.WARNING, Level.HINT)
ALL_TOUCHED = "all"
PLAIN = ("required", "invalid_choice", "out_of_range", "too_long")  # say all there is to know
# Sections by the fields that findings lean on: the name that the page knows, and the title.
SECTIONS = {
    "env": ("command", gettext_lazy("Environment variables")),
    "mounts": ("storage", gettext_lazy("Storage")),
    "public_data": ("storage", gettext_lazy("Storage")),
}
DEFAULTS = {field.name: field.default for field in fields(JobSpec)}


@dataclass(frozen=True, slots=True)
class Offered:
    """A fix as the page offers it, for the control `name`. With a `line`, `old` and `new` are lines of a
    text; without one they are values, which are shown by their names."""

    name: str
    label: str
    line: int | None
    old: str
    new: str
    shown_old: tuple[str, ...]
    shown_new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """A check result with where to look; `field` is the form's, `row` and `line` count from 1 (0: none).

    `waits_for` is the title of a later section that may still settle it. `key` names the note on the page:
    the same as long as it says the same, wherever its line has moved.
    """

    level: str
    label: str
    anchor: str
    text: str
    field: str
    row: int = 0
    code: str = ""
    line: int = 0
    waits_for: str = ""
    fix: Offered | None = None
    key: str = ""

    @property
    def look(self) -> str:
        return "waits" if self.waits_for else self.level

    @property
    def explained(self) -> str:
        """The place of the help that tells more."""
        return "" if self.code in PLAIN else self.code


def note_of(form: JobForm, finding: Finding) -> Note:
    path = finding.field
    name = form.field_of(path)
    waits_for = waits_for_of(form, finding)
    told = zlib.crc32(f"{finding.fix.old}\0{finding.fix.new}".encode()) if finding.fix else 0
    return Note(
        str(finding.level),
        form.label_of(path),
        form.anchor_of(path),
        finding_text(finding.code, finding.data),
        name,
        form.row_number(path),
        finding.code,
        int(finding.data.get("line", 0)) if name == "command" else 0,
        waits_for,
        offered(form, finding.fix) if finding.fix else None,
        f"{finding.code}-{path.replace('.', '-')}-{told:x}",
    )


def unclear_notes(form: JobForm) -> Iterator[Note]:
    """What could not be understood at all."""
    for one in form.unclear:
        label, anchor = form.label_of(one.field), form.anchor_of(one.field)
        key = f"unclear-{one.field}-{one.row}"
        yield Note(str(Level.ERROR), label, anchor, one.text, one.field, one.row, key=key)


def waits_for_of(form: JobForm, finding: Finding) -> str:
    """The title of the section that decides on the finding, while nobody has been there. One that was filled
    in for the user, or at which the button was pressed already, has nothing left to decide."""
    if form.after_refusal or finding.leans_on not in SECTIONS:
        return ""
    section, title = SECTIONS[finding.leans_on]
    filled = getattr(form.job_spec(), finding.leans_on) != DEFAULTS[finding.leans_on]
    touched = (form.cleaned_data.get("touched") or "").split()
    return "" if filled or section in touched or ALL_TOUCHED in touched else str(title)


def offered(form: JobForm, fix: Fix) -> Offered | None:
    """None where the page has no control that the fix could be put into."""
    name = "env_text" if fix.field == "env" else fix.field
    if not form.shows(name) or (name == "env_text" and not (fix.line and form.variables.as_text)):
        return None
    if fix.line is not None:
        old, new = (tuple(text.split("\n")) if text else () for text in (fix.old, fix.new))
    else:
        old, new = (_names(form, name, value) for value in (fix.old, fix.new))
    return Offered(name, str(form.fields[name].label), fix.line, fix.old, fix.new, old, new)


def beside_of(notes: Iterable[Note]) -> dict[str, tuple[Note, ...]]:
    """The notes by the field at which they stand."""
    found: dict[str, list[Note]] = {}
    for note in notes:
        found.setdefault(note.field, []).append(note)
    return {field: tuple(of_field) for field, of_field in found.items()}


def _names(form: JobForm, name: str, value: str) -> tuple[str, ...]:
    """A value as the page calls it."""
    field = form.fields[name]
    if not value and not isinstance(field, forms.BooleanField):
        return ()
    if isinstance(field, forms.BooleanField):
        return (pgettext("switch", "on") if value == "true" else pgettext("switch", "off"),)
    if name == "spec":
        named = {str(card.spec.id): card.spec.name for card in form.offer.cards}
    elif isinstance(field, forms.CharField) and isinstance(field.widget, forms.Select | forms.RadioSelect):
        named = {str(code): str(label) for code, label in field.widget.choices}
    else:
        named = {}
    return (named.get(value, value),)


def in_order(notes: Iterable[Note]) -> list[Note]:
    """The gravest first, what is not certain yet last; each with a key of its own."""
    ordered = sorted(notes, key=lambda note: (bool(note.waits_for), LEVELS.index(Level(note.level))))
    seen: dict[str, int] = {}
    keyed = []
    for note in ordered:
        seen[note.key] = seen.get(note.key, 0) + 1
        again = seen[note.key]
        keyed.append(note if again == 1 else replace(note, key=f"{note.key}-{again}"))
    return keyed
