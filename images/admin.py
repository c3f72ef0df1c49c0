"""Admin pages of images."""

# Django's form and admin classes take no type arguments at run time.
# mypy: disable-error-code="type-arg"
from __future__ import annotations

import re
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db import models
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from images.models import SERVICES, Image
from teams.admin import Retirable, RetiredFilter

_REFERENCE = re.compile(r"[a-z0-9][a-z0-9._:/-]*(@sha256:[0-9a-f]{64})?\Z", re.IGNORECASE)


class ImageForm(forms.ModelForm):
    services = forms.MultipleChoiceField(
        label=_("available services"), choices=SERVICES, widget=forms.CheckboxSelectMultiple, initial=["job"]
    )

    class Meta:
        model = Image
        fields = ["reference", "team", "services", "zones", "digest"]

    def clean_reference(self) -> str:
        reference: str = self.cleaned_data["reference"]
        if not _REFERENCE.match(reference):
            raise ValidationError(
                _("Give “host”, or a reference such as registry.example/team/image:tag."), "reference"
            )
        return reference

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        same = Image.objects.filter(reference=data.get("reference", ""), team=data.get("team"))
        if "reference" in data and same.exclude(pk=self.instance.pk).exists():
            text = _("There is such a preset image, or one of this team, already.")
            self.add_error("reference", ValidationError(text, "taken"))
        return data


@admin.register(Image)
class ImageAdmin(Retirable):
    """Without a team it is a preset image, else a custom one of that team."""

    form = ImageForm
    list_display = ["reference", "kind", "team", "offered_for", "offered_in", "retired_at"]
    list_filter = ["zones", RetiredFilter, ("team", admin.EmptyFieldListFilter)]
    list_select_related = ["team"]
    search_fields = ["reference", "team__name"]
    autocomplete_fields = ["team", "zones"]
    fields = ["reference", "team", "services", "zones", "digest", "retired_at"]

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Image]:
        return super().get_queryset(request).prefetch_related("zones")

    @admin.display(description=_("kind"), ordering="team")
    def kind(self, image: Any) -> str:
        return str(_("custom") if image.team_id else _("preset"))

    @admin.display(description=_("available services"))
    def offered_for(self, image: Any) -> str:
        return ", ".join(str(label) for code, label in SERVICES if code in image.services)

    @admin.display(description=_("availability zones"))
    def offered_in(self, image: Any) -> str:
        return ", ".join(zone.name for zone in image.zones.all())
