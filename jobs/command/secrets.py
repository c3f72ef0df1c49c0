"""Values that look like passwords and tokens where everybody in the team can read them. Pure.

What is found is never put into a finding: only the name beside it, or its first four signs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from jobs.command.reading import Reading, reading
from jobs.command.shell import MOST_ANALYSED
from jobs.command.simple import Command
from jobs.command.words import Word
from jobs.findings import Finding, Level
from jobs.spec import JobSpec

SHOWN_SIGNS = 4
_LONGEST_VALUE = 4096
_KNOWN_FORMS = re.compile(
    r"(?<![A-Za-z0-9_-])(?<![A-Za-z0-9_.]/)("
    r"hf_[A-Za-z0-9]{20,}|sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}|gh[opsu]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|"
    r"AKIA[0-9A-Z]{16}|LTAI[A-Za-z0-9]{12,}|AIza[0-9A-Za-z_-]{30,}|xox[abprs]-[A-Za-z0-9-]{10,}|"
    r"glpat-[A-Za-z0-9_-]{16,}|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}"
    r")(?![A-Za-z0-9_-])"
)
_IN_ADDRESS = re.compile(  # each part is bounded, and starts where no other can: else the time is the square
    r"(?<![a-z0-9+])([a-z][a-z0-9+]{0,30})://[^\s/:@'\"$]{1,255}:([^\s/:@'\"${}]{3,1024})@([\w.-]{1,255})"
)
_PASSWORD = re.compile(r"(password|passwd|passphrase|secret)\Z", re.IGNORECASE)
_TOKEN = re.compile(r"(_|-|\A|api|access|secret|auth)(token|key)\Z", re.IGNORECASE)
_NO_VALUE = re.compile(
    r"x{4,}|\*{3,}|\.{3}|[<>{}\[\]()\s]|your|example|change.?me|placeholder|redacted|dummy|secret\Z|password\Z",
    re.IGNORECASE,
)
_HEX_KEY = re.compile(r"[0-9a-f]{40}\Z")


@dataclass(frozen=True, slots=True)
class Clear:
    """A secret in clear: what it is called, and its line in the command."""

    shown: str
    line: int


def secret_findings(spec: JobSpec) -> Iterator[Finding]:
    for clear in in_command(spec.command):
        data = {"name": clear.shown, "line": clear.line}
        yield Finding("secret_in_clear", "command", Level.WARNING, data)
    for i, variable in enumerate(spec.env):
        if variable.private or variable.value is None or len(variable.value) > _LONGEST_VALUE:
            continue
        value = variable.value
        if _named_secret(variable.name, value) or next(_unnamed(value), None) is not None:
            data = {"name": variable.name[:80]}
            yield Finding("secret_in_clear", f"env.{i}.value", Level.WARNING, data)


@lru_cache(maxsize=32)
def in_command(command: str) -> tuple[Clear, ...]:
    """The secrets of a command, one for each line. What a variable of the page holds is not looked at."""
    found: dict[int, Clear] = {}
    read = reading(command, ())
    for word, name in _named_words(read) if read else ():
        if word.line and word.certain and _named_secret(name, word.value):
            found.setdefault(word.line, Clear(name.lstrip("-")[:80], word.line))
    if len(command.encode(errors="surrogatepass")) <= MOST_ANALYSED:
        for number, line in enumerate(command.split("\n"), start=1):
            for shown in _unnamed(line):
                found.setdefault(number, Clear(shown, number))
    return tuple(found[line] for line in sorted(found))


def _named_words(read: Reading) -> Iterator[tuple[Word, str]]:
    """Values with the names beside them: of variables, and of options."""
    for assignment in read.assignments:
        yield assignment.value, assignment.name
    for command in read.commands:
        for assignment in command.assigned:
            yield assignment.value, assignment.name
        for word in (*command.wrapping, *command.words):
            name, equals, value = word.value.partition("=")
            if equals and re.fullmatch(r"[\w.-]+", name):
                yield word.part(value), name
        yield from _options(command)


def _options(command: Command) -> Iterator[tuple[Word, str]]:
    words = command.words
    for option, value in pairwise(words):
        if option.value.startswith("--") and not value.value.startswith("-"):
            yield value, option.value
    if command.program == "wandb" and words[:1] and words[0].value == "login":
        yield from ((word, "wandb key") for word in words[1:] if _HEX_KEY.match(word.value))
    if command.program == "sshpass" and len(words) > 1 and words[0].value == "-p":
        yield words[1], "sshpass password"


def _named_secret(name: str, value: str) -> bool:
    """Whether a value is likely what the name beside it calls a secret."""
    if value.startswith(("/", "./", "~", "$", "http")) or _NO_VALUE.search(value):
        return False
    if _PASSWORD.search(name):
        return len(value) >= 6
    if _TOKEN.search(name) or name == "wandb key":
        mixed = re.search(r"[0-9]", value) and re.search(r"[A-Za-z]", value)
        return len(value) >= 16 and bool(mixed) and len(set(value)) >= 8
    return False


def _unnamed(text: str) -> Iterator[str]:
    """What looks like a secret by itself, as it may be shown."""
    for match in _KNOWN_FORMS.finditer(text):
        if len(set(match[1])) >= 10 and not _NO_VALUE.search(match[1]):
            yield match[1][:SHOWN_SIGNS] + "…"
    for match in _IN_ADDRESS.finditer(text):
        if not _NO_VALUE.search(match[2]):
            yield f"{match[1]}://…@{match[3][:80]}"
