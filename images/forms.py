"""What the image centre is filtered by."""

from __future__ import annotations

from collections.abc import Sequence

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from images.models import SERVICES
from pools.forms import ZoneFilter
from pools.models import Zone

KINDS = [("preset", _("Preset images")), ("custom", _("Custom images"))]


class ImageFilter(ZoneFilter):
    """From the query of the address; a value that means nothing filters nothing."""

    service = forms.ChoiceField(
        label=_("Available services"),
        required=False,
        choices=[("", _("All services")), *SERVICES],
        widget=forms.Select(attrs={"class": "form-select"}),
    )
    kind = forms.ChoiceField(
        label=_("Kind"),
        required=False,
        choices=[("", _("All kinds")), *KINDS],
        widget=forms.Select(attrs={"class": "form-select"}),
    )

    def __init__(self, data: QueryDict, zones: Sequence[Zone]) -> None:
        super().__init__(data, zones)
        self.fields["search"].label = _("Search images")
        self.fields["search"].widget.attrs["placeholder"] = _("Reference or digest")
        self.order_fields(["service", "zone", "kind", "search"])
