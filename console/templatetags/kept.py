"""Parts of pages that follow from a few values alone: made once for the same values, and kept."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language

register = template.Library()

MOST_KEPT = 512  # parts, of all people and pools together


@register.simple_tag
def kept(template_name: str, /, **values: Hashable) -> SafeString:
    """The template with these values and nothing else: no request, no person, no clock.

    TypeError for a value that cannot be compared as a whole.
    """
    return _made(template_name, get_language() or "", tuple(values.items()))


@lru_cache(maxsize=MOST_KEPT)
def _made(name: str, language: str, values: tuple[tuple[str, Hashable], ...]) -> SafeString:
    """`language` is only there to tell the parts apart: it is the one that is active."""
    return render_to_string(name, dict(values))
