"""Links from a page of the console into the help."""

from __future__ import annotations

from django import template
from django.urls import reverse

from console import help as help_engine

register = template.Library()


@register.simple_tag
def help_address(page: str, anchor: str = "") -> str:
    address = reverse("help-page", args=[page])
    return f"{address}#{anchor}" if anchor else address


@register.simple_tag
def help_title(page: str, anchor: str = "") -> str:
    """What the place is about, in the reader's language; nothing if there is no such place.

    The job it belongs to may be older than the help is: no reason for its page to fail.
    """
    try:
        found = help_engine.page(page, help_engine.reader_language())
    except KeyError:
        return ""
    return found.anchors.get(anchor, found.title)
