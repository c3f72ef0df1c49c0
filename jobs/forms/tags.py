"""Tags as one line of text: separated by commas, in double quotes where a tag has one itself.
Input methods may make “…” of the quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable

SPECIAL = re.compile(r'[,，\n]|^\s|\s$|^["“]')
ENTRY = re.compile(
    r"""\s*(?:(?:"(?P<quoted>(?:[^"]|"")*)"|“(?P<typeset>[^”]*)”)\s*(?=[,，\n]|\Z)|(?P<plain>[^,，\n]*))"""
    r"(?:[,，\n]|\Z)"
)


def tags_text(tags: Iterable[str]) -> str:
    """What `tags_of` reads back, sign by sign."""
    quoted = ('"{}"'.format(tag.replace('"', '""')) if SPECIAL.search(tag) else tag for tag in tags)
    return ", ".join(quoted)


def tags_of(text: str) -> tuple[str, ...]:
    """The tags; what is no whole quotation stands for itself."""
    found = []
    for entry in ENTRY.finditer(text):
        if entry["plain"] is not None:
            tag = entry["plain"].strip()
        else:
            tag = entry["typeset"] or (entry["quoted"] or "").replace('""', '"')
        if tag:
            found.append(tag)
    return tuple(found)
