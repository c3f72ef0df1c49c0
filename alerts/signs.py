"""Signs that are none: they are stored nowhere, show nothing, or turn around what is read. Plain values."""

from __future__ import annotations

import re

# Controls but for the tab and line breaks, and the mark of byte order, which receivers drop by themselves.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff]")
_TURNING = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def without_controls(text: str) -> str:
    """With lines that end in one way. A lone surrogate becomes a question mark."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", text).encode("utf-8", "replace").decode("utf-8")


def plain(text: str) -> str:
    """Without controls; what changes the direction of reading is shown as a replaced sign."""
    return _TURNING.sub("\ufffd", without_controls(text))


def turns(text: str) -> bool:
    """Whether a sign in it changes the direction of reading."""
    return _TURNING.search(text) is not None
