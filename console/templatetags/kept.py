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
MOST_WHOLE = 64  # of those that hold most of a page


@register.simple_tag
def kept(template_name: str, /, **values: Hashable) -> SafeString:
    """The template with these values and nothing else: no request, no person, no clock. They must be plain,
    and of one type in each place: equal ones share what was drawn.

    TypeError for a value that cannot be compared as a whole.
    """
    return _made(template_name, get_language() or "", tuple(values.items()))


@register.simple_tag
def kept_whole(template_name: str, /, **values: Hashable) -> SafeString:
    """The same for a part so large that many of it would crowd out the small ones."""
    return _made_whole(template_name, get_language() or "", tuple(values.items()))


@lru_cache(maxsize=MOST_KEPT)
def _made(name: str, language: str, values: tuple[tuple[str, Hashable], ...]) -> SafeString:
    """`language` is only there to tell the parts apart: it is the one that is active."""
    return render_to_string(name, dict(values))


@lru_cache(maxsize=MOST_WHOLE)
def _made_whole(name: str, language: str, values: tuple[tuple[str, Hashable], ...]) -> SafeString:
    return _made.__wrapped__(name, language, values)
