"""Forms by which admins describe zones, flavors, specs and nodes, and by which lists are filtered."""

# Django's form and admin classes take no type arguments at run time.
# mypy: disable-error-code="type-arg"
from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from pools.models import LEFT_BY_JOBS, Flavor, Network, Node, NodeState, WorkerSpec, Zone

LENT_FOLDERS = ("volumes", "public")  # of DATA_DIR: all that jobs may be shown of it
MOST_NODES = 5000  # added at once
MOST_GPUS = 64  # of one node
_RANGES = re.compile(r"\[([0-9,\- ]+)\]")
_NODE_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\Z")


def folder_validate(path: str) -> str:
    """A folder of the machine that jobs may be shown, without doubled or trailing slashes.

    ValidationError unless it is absolute and apart from the console's own data: jobs could read its keys.
    """
    if not path.startswith("/") or "\0" in path:
        raise ValidationError(_("Give an absolute path: it begins with /."), "not_absolute")
    if ".." in path.split("/"):
        raise ValidationError(_("The path must not contain “..”."), "dots")
    normal = "/" + os.path.normpath(path).lstrip("/")
    real, data_dir = Path(os.path.realpath(normal)), Path(os.path.realpath(settings.DATA_DIR))
    if str(real) != normal:  # the engine shows jobs nothing that lies behind a link
        message = _("This path goes through a symbolic link. Give the folder itself: %(real)s")
        raise ValidationError(message, "link", {"real": str(real)})
    if any(data_dir / name in real.parents for name in LENT_FOLDERS):
        return normal
    if real == data_dir or data_dir in real.parents or real in data_dir.parents:
        raise ValidationError(
            _("The console keeps its own data there. Take a folder below %(folder)s, or one elsewhere."),
            "console_data",
            {"folder": str(data_dir / LENT_FOLDERS[0])},
        )
    return normal


class ZoneForm(forms.ModelForm):
    class Meta:
        model = Zone
        fields = ["name", "public_data"]

    def clean_public_data(self) -> str:
        path: str = self.cleaned_data["public_data"]
        return folder_validate(path) if path else ""


class FlavorForm(forms.ModelForm):
    gpus_per_node = forms.IntegerField(label=_("GPUs per node"), min_value=1, max_value=MOST_GPUS, initial=8)

    class Meta:
        model = Flavor
        fields = [
            "pool",
            "name",
            "gpu_model",
            "gpus_per_node",
            "cpus",
            "memory_gib",
            "network",
            "network_label",
        ]

    def clean_gpus_per_node(self) -> int:
        gpus: int = self.cleaned_data["gpus_per_node"]
        if self.instance.pk and self.instance.specs.filter(gpus__gt=gpus, retired_at=None).exists():
            text = _("There are Worker specs with more GPUs. Retire them first.")
            raise ValidationError(text, "specs_larger")
        return gpus

    def clean_network_label(self) -> str:
        label: str = self.cleaned_data["network_label"]
        if label and self.cleaned_data.get("network") == Network.NONE:
            raise ValidationError(_("There is no training network to label."), "label_without_network")
        return label


class SpecForm(forms.ModelForm):
    """A Worker takes no more than its node has; 0 of the flavor means that nobody said how much."""

    class Meta:
        model = WorkerSpec
        fields = ["flavor", "name", "gpus", "cpus", "memory_gib", "shm_gib"]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        flavor: Flavor | None = data.get("flavor") or getattr(self.instance, "flavor", None)
        if flavor is None:
            return data
        limits = [
            ("gpus", flavor.gpus_per_node),
            ("cpus", flavor.cpus),
            ("memory_gib", flavor.memory_gib),
            ("shm_gib", data.get("memory_gib") or flavor.memory_gib),
        ]
        for field, most in limits:
            if most and (data.get(field) or 0) > most:
                text = _("A node of %(flavor)s has room for %(most)d at most.")
                values = {"flavor": flavor, "most": most}
                self.add_error(field, ValidationError(text, "more_than_a_node", values))
        return data


class NodeForm(forms.ModelForm):
    class Meta:
        model = Node
        fields = ["name", "state", "prepaid_until"]

    def clean_state(self) -> str:
        state: str = self.cleaned_data["state"]
        if state == NodeState.RETIRED and self.instance.holds.exists():
            text = _("Workers hold GPUs of this node. Cordon it, and retire it when they have ended.")
            raise ValidationError(text, "node_in_use")
        if state in LEFT_BY_JOBS and "state" in self.changed_data and self.instance.holds.exists():
            text = _("Workers are on this node. Choose this in the list of nodes: it tells first what ends.")
            raise ValidationError(text, "ends_jobs")
        return state


class NodesForm(forms.ModelForm):
    """Adds nodes: by names, or a number of them with names that go on counting."""

    names = forms.CharField(
        label=_("names"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("One a line, or separated by commas; g-[001-032] stands for g-001, g-002 … g-032."),
    )
    count = forms.IntegerField(
        label=_("or how many"),
        required=False,
        min_value=1,
        max_value=MOST_NODES,
        help_text=_("They are named after the flavor: a100-1, a100-2 …"),
    )

    class Meta:
        model = Node
        fields = ["flavor", "prepaid_until"]

    def clean_names(self) -> list[str]:
        try:
            names = list(islice(names_expand(self.cleaned_data["names"]), MOST_NODES + 1))
        except ValueError as error:
            raise ValidationError(
                _("This is no list of names: %(piece)s"), "names", {"piece": str(error)}
            ) from error
        if len(names) > MOST_NODES:
            raise ValidationError(_("At most %(most)d nodes at once."), "too_many", {"most": MOST_NODES})
        return list(dict.fromkeys(names))

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        flavor, names, count = data.get("flavor"), data.get("names", []), data.get("count")
        if "names" in self.errors or "count" in self.errors or flavor is None:
            return data
        if bool(names) == bool(count):
            text = _("Give either names or a number.")
            self.add_error("names", ValidationError(text, "names_or_count"))
        elif count:
            data["names"] = names_continue(flavor, count)
        else:
            self._refuse_taken(flavor, names)
        return data

    def _refuse_taken(self, flavor: Flavor, names: list[str]) -> None:
        present = set(flavor.nodes.values_list("name", flat=True))
        taken = [name for name in names if name in present]
        if taken:
            text = _("The flavor has these nodes already: %(names)s")
            self.add_error("names", ValidationError(text, "taken", {"names": ", ".join(taken[:10])}))


def names_expand(text: str) -> Iterator[str]:
    """The names meant by `a, g-[001-032,040]`, in order. ValueError with the piece that means nothing."""
    for piece in re.split(r"[\s,;]+(?![^\[]*\])", text.strip()):
        if piece:
            yield from _expanded(piece, piece)


def _expanded(piece: str, whole: str) -> Iterator[str]:
    found = _RANGES.search(piece)
    if found is None:
        if len(piece) > 80 or not _NODE_NAME.match(piece):
            raise ValueError(whole[:80])
        yield piece
        return
    for number in _numbers(found.group(1), whole):
        yield from _expanded(piece[: found.start()] + number + piece[found.end() :], whole)


def _numbers(ranges: str, whole: str) -> Iterator[str]:
    """`001-032,040` as texts; leading zeros are kept."""
    for part in ranges.replace(" ", "").split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or int(last or first) < int(first):
            raise ValueError(whole[:80])
        for number in range(int(first), int(last or first) + 1):
            yield str(number).zfill(len(first))


def names_continue(flavor: Flavor, count: int) -> list[str]:
    """`count` names that go on after the highest number in use: a100-1, a100-2 …"""
    pattern = re.compile(re.escape(flavor.name) + r"-([0-9]+)\Z")
    used = (pattern.match(name) for name in flavor.nodes.values_list("name", flat=True))
    highest = max((int(found.group(1)) for found in used if found), default=0)
    return [f"{flavor.name}-{number}" for number in range(highest + 1, highest + count + 1)]


class ZoneFilter(forms.Form):
    """From the query of an address; a value that means nothing filters nothing."""

    zone = forms.TypedChoiceField(
        label=_("Availability zone"),
        required=False,
        coerce=int,
        empty_value=None,
        widget=forms.Select(attrs={"class": "form-select"}),
    )
    search = forms.CharField(
        required=False,
        max_length=300,
        widget=forms.TextInput(attrs={"type": "search", "class": "form-control"}),
    )

    def __init__(self, data: QueryDict, zones: Sequence[Zone]) -> None:
        super().__init__(data)
        field: Any = self.fields["zone"]
        field.choices = [("", _("All zones")), *[(zone.pk, zone.name) for zone in zones]]
        self.is_valid()

    @property
    def chosen(self) -> dict[str, Any]:
        """What filters, by field."""
        return {name: value for name, value in self.cleaned_data.items() if value}
