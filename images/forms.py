"""What the image centre is filtered by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from images.models import SERVICES
from pools.models import Zone

KINDS = [("preset", _("Preset images")), ("custom", _("Custom images"))]


class ImageFilter(forms.Form):
    """From the query of the address; a value that means nothing filters nothing."""

    service = forms.ChoiceField(
        label=_("Available services"),
        required=False,
        choices=[("", _("All services")), *SERVICES],
        widget=forms.Select(attrs={"class": "form-select"}),
    )
    zone = forms.TypedChoiceField(
        label=_("Availability zone"),
        required=False,
        coerce=int,
        empty_value=None,
        widget=forms.Select(attrs={"class": "form-select"}),
    )
    kind = forms.ChoiceField(
        label=_("Kind"),
        required=False,
        choices=[("", _("All kinds")), *KINDS],
        widget=forms.Select(attrs={"class": "form-select"}),
    )
    search = forms.CharField(
        label=_("Search images"),
        required=False,
        max_length=300,
        widget=forms.TextInput(attrs={"type": "search", "class": "form-control"}),
    )

    def __init__(self, data: QueryDict, zones: Sequence[Zone]) -> None:
        super().__init__(data)
        field: Any = self.fields["zone"]
        field.choices = [("", _("All zones")), *[(zone.pk, zone.name) for zone in zones]]
        self.fields["search"].widget.attrs["placeholder"] = _("Reference or digest")
        self.is_valid()

    @property
    def chosen(self) -> dict[str, Any]:
        """What filters, by field."""
        return {name: value for name, value in self.cleaned_data.items() if value}
