"""Changes of one line of a command, for a person to look at. Pure."""

from __future__ import annotations

import re

from jobs.command.shell import parsed
from jobs.findings import Fix


def line_fix(command: str, line: int, old: str, new: str) -> Fix | None:
    """The line with `new` for `old`; None unless `old` stands in it exactly once, as words of its own."""
    script = parsed(command)
    if script is None or line < 1 or not old or "\n" in old:
        return None
    text = script.lines(line, line)
    places = [m.start() for m in re.finditer(rf"(?<![\w/.$-]){re.escape(old)}(?![\w.$-])", text)]
    if len(places) != 1 or old == new:
        return None
    at = places[0]
    return Fix("command", text, text[:at] + new + text[at + len(old) :], line)
