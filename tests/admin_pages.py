"""What a browser would send back of an admin page."""

from __future__ import annotations

from typing import Any


def filled(response: Any) -> dict[str, Any]:
    """The values of all fields of an add or change page, inlines included, as they are shown."""
    context = response.context_data
    forms = [context["adminform"].form]
    for inline in context["inline_admin_formsets"]:
        forms += [inline.formset.management_form, *inline.formset.forms]
    return {
        field.html_name: field.value()
        for form in forms
        for field in form
        if field.value() is not None and field.value() is not False
    }


def errors(response: Any) -> dict[str, list[str]]:
    """The codes of the errors shown, by field."""
    found = response.context_data["adminform"].form.errors.as_data()
    return {field: [error.code for error in of_field] for field, of_field in found.items()}
