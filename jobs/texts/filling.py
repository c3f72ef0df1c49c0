"""From a table of sentences to the one that is meant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from typing import Any

from django.utils.translation import get_language, ngettext


def filled(sentences: Mapping[str, Any], code: str, data: Mapping[str, Any]) -> str:
    """The sentence with its data; the code itself if it has none (a test looks for those)."""
    return str(sentences[code]) % data if code in sentences else code


def gpus_text(gpus: int) -> str:
    return ngettext("%(n)s GPU", "%(n)s GPUs", gpus) % {"n": gpus}


def kept_by_language(sentence: Callable[[str], str]) -> Callable[[str], str]:
    """A sentence that follows from its code alone is looked up once a language, not with each update."""

    @lru_cache(maxsize=512)
    def kept(_language: str | None, code: str) -> str:
        return sentence(code)

    @wraps(sentence)
    def looked_up(code: str) -> str:
        return kept(get_language(), code)

    return looked_up
