"""What the last lines of a log say of why a program failed. Pure; silent where it is not sure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

MOST_TOLD = 3
LONGEST = 120  # signs of a name or path out of the log
LONGEST_LINE = 1000  # no error is told in a longer one, and looking through it would take long


@dataclass(frozen=True, slots=True)
class Symptom:
    """A code with what the log names, and the place of the help that tells what to do."""

    code: str
    page: str
    anchor: str
    data: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Sign:
    """One way in which programs say it; the groups of the pattern are the data."""

    code: str
    page: str
    anchor: str
    pattern: re.Pattern[str]


def _sign(code: str, place: str, pattern: str) -> _Sign:
    page, _hash, anchor = place.partition("#")
    return _Sign(code, page, anchor, re.compile(pattern, re.MULTILINE))


SIGNS = (
    _sign("module_missing", "images#inside", r"No module named ['\"](?P<name>[\w.]{1,200})['\"]"),
    _sign("program_missing", "images#inside", r"(?:^|\s)(?P<name>[\w./+-]{1,120}): (?:command )?not found$"),
    _sign("variable_missing", "command#env", r"^KeyError: '(?P<name>[A-Z][A-Z0-9_]*)'$"),
    _sign("variable_missing", "command#env", r"(?:^|\s)(?P<name>[A-Za-z_]\w{0,119}): unbound variable$"),
    _sign("path_missing", "code-and-data#check-paths", r"No such file or directory: '(?P<path>[^'\n]+)'"),
    _sign("path_missing", "code-and-data#check-paths", r"can't open file '(?P<path>[^'\n]+)'"),
    _sign(
        "path_missing",
        "code-and-data#check-paths",
        r"(?:^|: )(?P<path>[^:\n]{1,400}): No such file or directory$",
    ),
    _sign(
        "not_permitted", "troubleshooting#before-first-batch", r"Permission denied(?:: '(?P<path>[^'\n]+)')?"
    ),
    _sign("read_only", "storage#system-disk", r"Read-only file system(?:: '(?P<path>[^'\n]+)')?"),
    _sign("port_in_use", "torchrun#mistakes", r"(?:Address already in use|EADDRINUSE)"),
    _sign("no_space", "storage#system-disk", r"No space left on device"),
    _sign("shared_memory", "troubleshooting#before-first-batch", r"\bBus error\b|insufficient shared memory"),
    _sign(
        "gpu_memory", "troubleshooting#before-first-batch", r"CUDA out of memory|CUDA error: out of memory"
    ),
    _sign(
        "not_meeting",
        "troubleshooting#several-nodes",
        r"RendezvousTimeoutError|DistNetworkError|ncclSystemError|Timed out after \d+ seconds waiting for",
    ),
    _sign(
        "rank_failed",
        "torchrun#mistakes",
        r"^[ \t]*rank[ \t]*:[ \t]*(?P<rank>\d{1,9}) .*\n[ \t]*exitcode[ \t]*:[ \t]*(?P<exit_code>-?\d{1,9}) ",
    ),
)


def symptoms(text: str) -> list[Symptom]:
    """What the text says, the last said first, each kind once."""
    text = "\n".join(line for line in text.split("\n") if len(line) <= LONGEST_LINE)
    found: dict[str, tuple[int, Symptom]] = {}
    for sign in SIGNS:
        for match in sign.pattern.finditer(text):
            data = {name: value[:LONGEST] for name, value in match.groupdict().items() if value}
            if match.start() >= found.get(sign.code, (-1,))[0]:
                found[sign.code] = (match.start(), Symptom(sign.code, sign.page, sign.anchor, data))
    newest = sorted(found.values(), key=lambda one: one[0], reverse=True)
    return [symptom for _at, symptom in newest[:MOST_TOLD]]
