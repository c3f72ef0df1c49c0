"""The form of a new job. It is always bound: a new one to what it starts from (`jobs/forms/start.py`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from copy import deepcopy
from functools import cached_property
from itertools import islice
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs.estimate import Promise
from jobs.findings import Finding
from jobs.forms.alerts import AlertRow, AlertRows
from jobs.forms.fields import choice, one_id, one_offered, own, shared, switch, text, whole
from jobs.forms.image_choice import ImageChoice, ImageSelect
from jobs.forms.offer import Offer, offer_read
from jobs.forms.rows import Row, Unclear
from jobs.forms.tags import tags_of
from jobs.forms.variables import Variables, switched
from jobs.rules import limits
from jobs.spec import EnvVar, JobSpec, MountSpec, unix_newlines
from jobs.states import Framework, Priority
from jobs.texts import (
    FRAMEWORK_LABELS,
    HANG_ACTION_LABELS,
    PRIORITY_LABELS,
    START_POLICY_LABELS,
    finding_text,
)
from pools.reading import PoolNumbers
from teams.models import User
from teams.pages import plain_id

PLACE = re.compile(r"place-(\d{1,9})-([a-z_]{1,40})")


ROWS = {"mounts": gettext_lazy("High-performance storage"), "alerts": gettext_lazy("Alerts of the job")}


@shared
class JobForm(forms.Form):
    """What was typed becomes a `JobSpec`; what the rules say of that comes back beside the fields."""

    team = one_offered(gettext_lazy("Team"))
    pool = one_offered(gettext_lazy("Resource pool"))
    spec = one_id(gettext_lazy("Worker spec"))
    worker_count = whole(gettext_lazy("Worker count"), 1, limits.MOST_WORKERS)
    custom = switch(gettext_lazy("Custom GPU count"))
    custom_gpus = whole(gettext_lazy("Number of GPUs"), 1, limits.MOST_CUSTOM_GPUS)
    flavor = one_offered(gettext_lazy("Node flavor"))
    rdma = switch("RDMA")
    image = one_offered(gettext_lazy("Image"), ImageSelect)
    framework = forms.CharField(
        label=gettext_lazy("Distributed framework"),
        required=False,
        widget=forms.RadioSelect(choices=list(FRAMEWORK_LABELS.items())),
    )
    env_check = switch(gettext_lazy("Environment check"))
    auto_restart = switch(gettext_lazy("Automatic restart"))
    max_restarts = whole(gettext_lazy("Restarts at most"), 1, limits.MOST_RESTARTS)
    hang_detection = switch(gettext_lazy("Hang detection"))
    hang_timeout_seconds = whole(
        gettext_lazy("Silent for (s)"), limits.LEAST_HANG_SECONDS, limits.MOST_HANG_SECONDS, "seconds"
    )
    hang_action = choice(gettext_lazy("When it hangs"), HANG_ACTION_LABELS.items())
    command = text(gettext_lazy("Start command"), 8, spellcheck="false", autocapitalize="off")
    env_text = text(gettext_lazy("Environment variables"), 2, spellcheck="false", autocapitalize="off")
    public_data = switch(gettext_lazy("Public data"))
    name = text(gettext_lazy("Job name"), strip=True, autocomplete="off")
    description = text(gettext_lazy("Description"), 2)
    tags = text(gettext_lazy("Tags"), autocomplete="off")
    priority = choice(gettext_lazy("Priority"), PRIORITY_LABELS.items())
    max_runtime_minutes = whole(gettext_lazy("Maximum running time (min)"), 1, limits.MOST_MINUTES, "minutes")
    max_queue_minutes = whole(gettext_lazy("Maximum waiting time (min)"), 1, limits.MOST_MINUTES, "minutes")
    start_policy = choice(gettext_lazy("If it cannot start at once"), START_POLICY_LABELS.items())
    stop_grace_seconds = whole(
        gettext_lazy("Grace time when stopped (s)"), 0, limits.MOST_GRACE_SECONDS, "seconds"
    )
    keep_after_failure_minutes = whole(
        gettext_lazy("Keep files after a failure (min)"), 0, limits.MOST_KEPT_MINUTES, "minutes"
    )
    token = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)
    origin = forms.CharField(required=False, max_length=19, widget=forms.HiddenInput)
    replaces = forms.CharField(required=False, max_length=1, widget=forms.HiddenInput)
    promise = forms.CharField(required=False, max_length=60)
    tried = forms.CharField(required=False, max_length=1)
    touched = forms.CharField(required=False, max_length=200)

    def __init__(
        self, user: User, data: QueryDict | MultiValueDict[str, Any], offer: Offer | None = None
    ) -> None:
        self.user = user
        super().__init__(data=switched(data))
        self.variables = Variables(self.data)  # type: ignore[arg-type]
        self.mount_rows = self._rows("mount_volume", "mount_path")
        self.alerts = AlertRows(self.data)  # type: ignore[arg-type]
        self.full_clean()
        self.after_refusal = bool(self.cleaned_data.get("tried"))
        self.offer = offer or offer_read(user, self.cleaned_data.get("team"), self.cleaned_data.get("pool"))
        self._spec = self._request()
        self.unclear = self._unclear()

    def job_spec(self) -> JobSpec:
        """The request; what could not be understood is left out of it, and is an error of the form."""
        return self._spec

    def promised(self) -> Promise:
        """What the page showed beside the button. Who was shown nothing is promised a start at once."""
        place = PLACE.fullmatch(self.cleaned_data.get("promise") or "")
        return Promise(int(place[1]), place[2]) if place else Promise()

    def accept(self, findings: Iterable[Finding]) -> None:
        """Takes the errors for which the request was refused, each to its field or row, to be marked."""
        unclear = self.unclear_fields
        for finding in findings:
            text = finding_text(finding.code, finding.data)
            if (row := self._place_of(finding.field)[1]) is not None:
                row.refuse(finding.field, text)
            elif (name := self.field_of(finding.field)) in self.fields and name not in unclear:
                self.add_error(name, text)

    @property
    def unclear_fields(self) -> set[str]:
        """Fields without a usable value. In the text of variables the other pieces are still judged."""
        return {one.field for one in self.unclear} - {"env_text", "mounts", "alerts"}

    def shows(self, name: str) -> bool:
        """Whether its page has a control for the field."""
        return name in self.fields

    def field_of(self, path: str) -> str:
        """The form's field for a field of the request: `env.3.name` is in `env_text` or in a row of `env`."""
        head = path.partition(".")[0]
        return self.variables.field_of(path) if head == "env" else head

    def row_number(self, path: str) -> int:
        """Which row of its rows, from 1; 0 for what is in none."""
        return self._place_of(path)[0]

    def anchor_of(self, path: str) -> str:
        """The id of the element in which the field of the request is found."""
        name = self.field_of(path).partition(".")[0]
        places = {"mounts": "mount-rows", "env": "env-rows", "spec": "spec-part", "framework": "framework"}
        places["alerts"] = "alert-rows"
        return places.get(name, f"id_{name}")

    def label_of(self, path: str) -> str:
        name = self.field_of(path).partition(".")[0]
        if name in ROWS:
            return str(ROWS[name])
        return str(self.fields["env_text" if name == "env" else name].label)

    def mark(self) -> None:
        """Makes the errors visible in the controls, with the focus on the first of them."""
        in_order = [name for name in self.fields if name in self.errors]
        for name in in_order:
            attrs = own(self, name).widget.attrs
            attrs["class"] = f"{attrs.get('class', '')} is-invalid"
        all_rows: Sequence[Row | AlertRow]
        all_rows = [*self.variables.rows, *self.mount_rows, *self.alerts.rows]
        rows = [row for row in all_rows if row.errors]
        early = list(self.fields).index("public_data")
        if in_order and not (rows and list(self.fields).index(in_order[0]) >= early):
            self.fields[in_order[0]].widget.attrs["autofocus"] = True
        elif rows:
            rows[0].focus = True

    def _unclear(self) -> list[Unclear]:
        typed = [Unclear(name, str(text)) for name, texts in self.errors.items() for text in texts]
        both: dict[str, Sequence[Row | AlertRow]]
        both = {"mounts": self.mount_rows, "alerts": self.alerts.rows}
        wrong = (
            Unclear(name, text, number)
            for name, in_rows in both.items()
            for number, row in enumerate(in_rows, start=1)
            for text in row.errors
        )
        return typed + list(islice(wrong, limits.MOST_MOUNTS))

    def _rows(self, left: str, right: str) -> list[Row]:
        data: Any = self.data
        lefts, rights = data.getlist(left), data.getlist(right)
        size = max(len(lefts), len(rights))
        padded = [[*values, *[""] * (size - len(values))] for values in (lefts, rights)]
        rows = [Row(*pair) for pair in zip(*padded, strict=True)]
        return [*(row for row in rows if not row.empty), Row("", "")]

    def _place_of(self, path: str) -> tuple[int, Row | AlertRow | None]:
        """The number of the row in which a field of the request stands, and the row."""
        head, _dot, rest = path.partition(".")
        at = rest.partition(".")[0]
        return self._places.get((head, int(at)), (0, None)) if at.isdecimal() else (0, None)

    @cached_property
    def _places(self) -> dict[tuple[str, int], tuple[int, Row | AlertRow]]:
        """Rows with their numbers by where they stand in the request; there may be thousands."""
        all_rows: dict[str, Sequence[Row | AlertRow]]
        all_rows = {"env": self.variables.rows, "mounts": self.mount_rows, "alerts": self.alerts.rows}
        return {
            (head, row.at): (number, row)
            for head, rows in all_rows.items()
            for number, row in enumerate(rows, start=1)
            if row.at is not None
        }

    def _request(self) -> JobSpec:
        values = self.cleaned_data
        custom = bool(values.get("custom"))
        for unused in ("spec", "worker_count") if custom else ("custom_gpus", "flavor"):
            self.errors.pop(unused, None)
        self._require("custom_gpus" if custom else "worker_count")
        grace = values.get("stop_grace_seconds")
        return JobSpec(
            team=values.get("team"),
            pool=values.get("pool"),
            image=values.get("image"),
            command=unix_newlines(values.get("command", "")),
            name=values.get("name", ""),
            spec=None if custom else values.get("spec"),
            worker_count=None if custom else values.get("worker_count") or 0,
            custom_gpus=(values.get("custom_gpus") or 0) if custom else None,
            flavor=values.get("flavor") if custom and len(self.offer.flavors) > 1 else None,
            rdma=bool(values.get("rdma")),
            framework=values.get("framework") or Framework.SINGLE.value,
            **self._tolerance(),
            env=self._env(),
            public_data=bool(values.get("public_data")),
            mounts=self._mounts(),
            alerts=self.alerts.asked,
            description=unix_newlines(values.get("description", "")),
            tags=tags_of(values.get("tags", "")),
            priority=values.get("priority") or Priority.NORMAL.label_code,
            max_runtime_minutes=values.get("max_runtime_minutes"),
            max_queue_minutes=values.get("max_queue_minutes"),
            start_policy=values.get("start_policy") or "queue",
            stop_grace_seconds=30 if grace is None else grace,
            keep_after_failure_minutes=values.get("keep_after_failure_minutes") or 0,
        )

    def _tolerance(self) -> dict[str, Any]:
        """What lies under a switch that is off is not asked for, whatever was typed there."""
        values = self.cleaned_data
        asked: dict[str, Any] = {"auto_restart": bool(values.get("auto_restart"))}
        asked["hang_detection"] = bool(values.get("hang_detection"))
        asked["env_check"] = bool(values.get("env_check"))
        under = {
            "auto_restart": ("max_restarts",),
            "hang_detection": ("hang_timeout_seconds", "hang_action"),
        }
        for name, fields in under.items():
            for field in fields:
                if not asked[name]:
                    self.errors.pop(field, None)
                elif values.get(field) not in (None, ""):
                    asked[field] = values[field]
        return asked

    def _require(self, name: str) -> None:
        if name not in self.errors and self.cleaned_data.get(name) is None:
            self.add_error(name, finding_text("required", {}))

    def _env(self) -> tuple[EnvVar, ...]:
        variables, findings = self.variables.read(self.cleaned_data.get("env_text", ""))
        for finding in findings:
            self.add_error("env_text", finding_text(finding.code, finding.data))
        return variables

    def _mounts(self) -> tuple[MountSpec, ...]:
        mounts: list[MountSpec] = []
        for row in self.mount_rows:
            if row.empty:
                continue
            if volume := plain_id(row.left):
                row.at = len(mounts)
                mounts.append(MountSpec(volume, row.right.strip()))
            else:
                row.errors.append(_("Choose a volume, or empty the mount path."))
        return tuple(mounts)

    @cached_property
    def images(self) -> ImageChoice:
        return ImageChoice(self.user, self.offer)

    def widget_of(self, name: str) -> forms.Widget:
        """The select of an offered field, with its options."""
        widget: forms.Widget = deepcopy(self.fields[name].widget)
        if isinstance(widget, forms.Select):
            widget.choices = [("", _("— choose —")), *self._options(name)]
        if isinstance(widget, ImageSelect):
            widget.choice = self.images
        return widget

    def _options(self, name: str) -> Sequence[Any]:
        offer = self.offer
        match name:
            case "team":
                return [(team.id, team.name) for team in offer.teams]
            case "pool":
                return [(numbers.pool.pk, _pool_label(numbers)) for numbers in offer.pools]
            case "flavor":
                return [(f.id, f"{f.name} · {f.gpu_model}") for f in offer.flavors]
            case _:
                return self.images.groups()


def _pool_label(numbers: PoolNumbers) -> str:
    pool = numbers.pool
    text = ngettext("%(idle)s of %(total)s GPU idle", "%(idle)s of %(total)s GPUs idle", numbers.total)
    idle = text % {"idle": numbers.idle, "total": numbers.total}
    paused = " · " + _("paused") if pool.paused else ""
    out = "" if numbers.in_service else " · " + _("no node in service")
    return f"{pool.name} · {idle}{paused}{out} · {pool.zone.name}"
