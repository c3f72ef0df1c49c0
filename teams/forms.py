"""What a person can choose about their own view of the console."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from teams.models import THEMES, ApiToken

AUTO = "auto"


class PreferencesForm(forms.Form):
    """What is missing stays as it is; `auto` gives a choice back to the browser or the system."""

    language = forms.ChoiceField(choices=[(AUTO, ""), *settings.LANGUAGES], required=False)
    theme = forms.ChoiceField(choices=[(AUTO, ""), *THEMES], required=False)

    def chosen(self, name: str) -> str | None:
        """The choice as it is stored; None if nothing was chosen."""
        value: str = self.cleaned_data[name]
        return ("" if value == AUTO else value) if value else None


class TokenForm(forms.Form):
    name = forms.CharField(
        label=_("Name of the token"),
        max_length=ApiToken._meta.get_field("name").max_length,
        widget=forms.TextInput(attrs={"class": "form-control", "autocomplete": "off"}),
    )

    def __init__(self, user: Any, data: Any = None) -> None:
        self.user = user
        super().__init__(data)

    def clean_name(self) -> str:
        """A page never replaces a token that a script may be using."""
        name: str = self.cleaned_data["name"]
        if ApiToken.objects.filter(user=self.user, name=name).exists():
            raise forms.ValidationError(
                _("There is a token of this name. Revoke it first, or choose another name.")
            )
        return name
