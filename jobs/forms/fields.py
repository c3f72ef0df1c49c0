"""The kinds of fields of the form: nothing is required by itself, the rules judge."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.validators import ProhibitNullCharactersValidator
from django.utils.functional import lazy

from jobs.texts import finding_text

MOST_ID = 2**62


def whole(label: Any, least: int, most: int, **more: Any) -> forms.IntegerField:
    said = lazy(finding_text, str)("out_of_range", {"least": least, "most": most})
    return forms.IntegerField(
        label=label,
        required=False,
        min_value=least,
        max_value=most,
        error_messages={"min_value": said, "max_value": said},
        **more,
    )


def one_id(label: Any, widget: type[forms.Select] = forms.Select) -> forms.IntegerField:
    return forms.IntegerField(label=label, required=False, min_value=1, max_value=MOST_ID, widget=widget)


class Text(forms.CharField):
    """Any text: what cannot be used in it is for the rules to say, in the same words as elsewhere."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.validators = [v for v in self.validators if not isinstance(v, ProhibitNullCharactersValidator)]


def text(label: Any, rows: int = 0, *, strip: bool = False, **attrs: str) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": rows, **attrs}) if rows else forms.TextInput(attrs=attrs)
    return Text(label=label, required=False, strip=strip, widget=widget)


def choice(label: Any, choices: Any) -> forms.CharField:
    return forms.CharField(label=label, required=False, widget=forms.Select(choices=list(choices)))


def switch(label: Any) -> forms.BooleanField:
    return forms.BooleanField(label=label, required=False)
