"""Output that was meant for a terminal, as text. Plain values."""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor movements
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles and links
    r"|\x1b[@-_]?"
)
_CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127), "�")


def readable(data: bytes) -> str:
    """Output for a terminal as lines: without escapes; a line that was written over in its last state."""
    text = _ESCAPES.sub("", data.decode("utf-8", "replace"))
    return "\n".join(_overwritten(line) for line in text.split("\n")).translate(_CONTROLS)


def _overwritten(line: str) -> str:
    return line.rstrip("\r").rpartition("\r")[2]
