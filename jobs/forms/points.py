"""The list of what to make sure of before the button, as the page shows it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from jobs.estimate import Estimate
from jobs.facts import Facts
from jobs.forms.checklist import Point, Standing, checklist
from jobs.forms.job import JobForm
from jobs.forms.notes import waits_for_of
from jobs.texts import finding_text
from jobs.texts.checklist import point_text, point_title

# Where the help tells more: page and place.
HELP = {
    "resources": ("queue", ""),
    "workers": ("environment", "framework"),
    "image": ("images", ""),
    "code": ("code-and-data", ""),
    "outputs": ("results", ""),
    "failure": ("reliable-commands", ""),
    "distributed": ("torchrun", ""),
    "resume": ("resumable", ""),
    "trial": ("start", ""),
}


@dataclass(frozen=True, slots=True)
class ShownPoint:
    """A point with its sentence; `anchor` and `place` lead to where it is decided, empty if nowhere.

    `ticked`: whoever fills in the form says that it is so, which counts where the console cannot tell.
    """

    code: str
    title: str
    standing: Standing
    text: str
    anchor: str
    place: str
    page: str
    page_anchor: str
    ticked: bool

    @property
    def settled(self) -> bool:
        return self.standing == Standing.OK or (self.standing == Standing.HAND and self.ticked)


def points_of(form: JobForm, judged: Estimate, facts: Facts) -> tuple[ShownPoint, ...]:
    unsure = [finding for finding in judged.findings if waits_for_of(form, finding)]
    typed: Any = form.data
    ticked = set(typed.getlist("confirmed"))
    found = checklist(form.job_spec(), judged, facts, unsure)
    return tuple(_shown(form, point, point.code in ticked) for point in found)


def said_of_points(points: Iterable[ShownPoint]) -> str:
    """How far the list is, in one line."""
    listed = list(points)
    settled = sum(point.settled for point in listed)
    return _("%(settled)s of %(all)s settled") % {"settled": settled, "all": len(listed)}


def _shown(form: JobForm, point: Point, ticked: bool) -> ShownPoint:
    told = point.finding
    page, page_anchor = HELP[point.code]
    return ShownPoint(
        code=point.code,
        title=point_title(point.code),
        standing=point.standing,
        text=finding_text(told.code, told.data) if told else point_text(point.why, point.data),
        anchor=form.anchor_of(point.field) if point.field else "",
        place=form.label_of(point.field) if point.field else "",
        page=page,
        page_anchor=page_anchor,
        ticked=ticked,
    )
