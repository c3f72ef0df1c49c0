"""The kinds of fields of the form: nothing is required by itself, the rules judge."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from django import forms
from django.core.validators import ProhibitNullCharactersValidator
from django.utils.functional import lazy
from django.utils.safestring import SafeString

from jobs.texts import finding_text

MOST_ID = 2**62


class SharedFields(dict[str, forms.Field]):
    """The fields of a class of forms, which its forms have in common: most forms are there to be read once,
    and copying thirty fields took longer than that. A form changes only a field that it made `own`."""

    def __deepcopy__(self, memo: object) -> SharedFields:
        return SharedFields(self)


def shared(form: type[forms.Form]) -> type[forms.Form]:
    """Lets the forms of the class share its fields, each of which leads to the notes at it."""
    for name, field in form.base_fields.items():
        widget = field.widget
        widget.attrs["aria-describedby"] = f"notes-{name}"
        if isinstance(widget, forms.Select) and not isinstance(widget, forms.RadioSelect):
            widget.attrs["class"] = "form-select"
        elif not isinstance(widget, forms.CheckboxInput | forms.HiddenInput | forms.RadioSelect):
            widget.attrs["class"] = "form-control"
    form.base_fields = SharedFields(form.base_fields)
    return form


def own(form: forms.Form, name: str) -> forms.Field:
    """The form's own copy of a field."""
    bound = form[name]
    bound.field = form.fields[name] = deepcopy(bound.field)
    return bound.field


class OfferedField(forms.BoundField):
    """A select whose options depend on the form, which has `widget_of` for them: made where it is drawn, as
    a whole; `subwidgets` has none."""

    def as_widget(self, widget: forms.Widget | None = None, *args: Any, **options: Any) -> SafeString:
        form: Any = self.form
        return super().as_widget(widget or form.widget_of(self.name), *args, **options)


def whole(label: Any, least: int, most: int, unit: str = "", **more: Any) -> forms.IntegerField:
    """`unit` of a length of time: its bounds are said in words."""
    bounds = {"least": least, "most": most} | ({"unit": unit} if unit else {})
    said = lazy(finding_text, str)("out_of_range", bounds)
    return forms.IntegerField(
        label=label,
        required=False,
        min_value=least,
        max_value=most,
        error_messages={"min_value": said, "max_value": said},
        **more,
    )


def one_id(label: Any, widget: type[forms.Widget] = forms.Select, **more: Any) -> forms.IntegerField:
    return forms.IntegerField(
        label=label, required=False, min_value=1, max_value=MOST_ID, widget=widget, **more
    )


def one_offered(label: Any, widget: type[forms.Select] = forms.Select) -> forms.IntegerField:
    return one_id(label, widget, bound_field_class=OfferedField)


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
