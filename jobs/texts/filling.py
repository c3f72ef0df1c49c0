"""From a table of sentences to the one that is meant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from typing import Any, ParamSpec, cast

from django.utils.translation import get_language, ngettext

Told = ParamSpec("Told")


def filled(sentences: Mapping[str, Any], code: str, data: Mapping[str, Any]) -> str:
    """The sentence with its data, in the form for its number; the code itself if it has none (a test looks
    for those). Where a sentence counts something else, its GPUs are told as `gpus`."""
    if code not in sentences:
        return code
    if "total_gpus" in data:
        data = {**data, "gpus": gpus_text(data["total_gpus"])}
    return str(sentences[code] % data)


def gpus_text(gpus: int) -> str:
    return ngettext("%(n)s GPU", "%(n)s GPUs", gpus) % {"n": gpus}


SECONDS = {"seconds": 1, "minutes": 60}


def span_text(length: int, unit: str) -> str:
    """A length of time in words, in the largest unit that holds it whole."""
    seconds = length * SECONDS[unit]
    if seconds and not seconds % 86400:
        return ngettext("%(n)s day", "%(n)s days", seconds // 86400) % {"n": seconds // 86400}
    if seconds and not seconds % 3600:
        return ngettext("%(n)s hour", "%(n)s hours", seconds // 3600) % {"n": seconds // 3600}
    if unit == "minutes" or (seconds and not seconds % 60):
        return ngettext("%(n)s minute", "%(n)s minutes", seconds // 60) % {"n": seconds // 60}
    return ngettext("%(n)s second", "%(n)s seconds", seconds) % {"n": seconds}


def kept_by_language(sentence: Callable[Told, str]) -> Callable[Told, str]:
    """A sentence that follows from its arguments alone is made once a language, not with each update. They
    are given by place, and must be plain values that never change."""

    @lru_cache(maxsize=512, typed=True)
    def kept(_language: str | None, *told: Any) -> str:
        return sentence(*told)  # type: ignore[call-arg]  # a ParamSpec asks for keywords too

    @wraps(sentence)
    def looked_up(*told: Any) -> str:
        return kept(get_language(), *told)

    return cast("Callable[Told, str]", looked_up)
