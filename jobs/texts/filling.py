"""From a table of sentences to the one that is meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import ngettext


def filled(sentences: Mapping[str, Any], code: str, data: Mapping[str, Any]) -> str:
    """The sentence with its data; the code itself if it has none (a test looks for those)."""
    return str(sentences[code]) % data if code in sentences else code


def gpus_text(gpus: int) -> str:
    return ngettext("%(n)s GPU", "%(n)s GPUs", gpus) % {"n": gpus}
