"""The script that a command runs, and the folder it changes to. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from jobs.command.reading import SHELLS
from jobs.command.simple import Command, names
from jobs.command.words import Word

_PYTHON = names("python python3")
_LAUNCHERS = names("torchrun deepspeed accelerate")
_NO_FILE = names("-m --module --no_python --no-python")
_PLAIN_PATH = re.compile(r"[\w./@+%=, -]+")


def folder_of(command: Command) -> Word | None:
    """Where `cd` or `pushd` goes; None for other programs, and for `cd`, `cd -`."""
    if command.program not in ("cd", "pushd"):
        return None
    words = [w for w in command.words if w.value not in ("--", "-P", "-L")]
    return words[0] if len(words) == 1 and not words[0].value.startswith("-") else None


def script_of(command: Command) -> Word | None:
    """The word that names the file to be run; None if there is none, or if only the run can tell which."""
    found = None
    if command.program in _PYTHON:
        found = _behind_flags(command.words, r"-[uBOEsSIqvibdx]+", names("-X -W"))
    elif command.program in SHELLS:
        found = _behind_flags(
            command.words, r"[-+][exuvlaEf]*|--(login|norc|noprofile|posix)", names("-o +o")
        )
    elif command.program in _LAUNCHERS:
        found = _behind_options(command)
    elif "/" in command.name.start and not command.name.value.startswith("\0"):
        found = command.name if command.name.value.endswith((".py", ".sh")) else None
    return found if found is not None and not found.value.startswith("\0") else None


def _behind_flags(words: Sequence[Word], flags: str, with_value: frozenset[str]) -> Word | None:
    """The first word behind options that are known; `-` alone and `-c` read no file."""
    at = 0
    while at < len(words):
        value = words[at].value
        bundled = "-o" in with_value and re.fullmatch(r"-[a-zA-Z]+o", value)
        if bundled or value in with_value:
            at += 2
        elif value != "-" and re.fullmatch(flags, value):
            at += 1
        else:
            return None if value.startswith(("-", "+")) or not value else words[at]
    return None


def _behind_options(command: Command) -> Word | None:
    """Of launchers with many options: the first word that is called like a program in Python."""
    words = command.words
    if command.program == "accelerate":
        if not words or words[0].value != "launch":
            return None
        words = words[1:]
    for word in words:
        if word.value in _NO_FILE or word.value.startswith("\0"):
            return None
        if word.value.endswith(".py") and not word.value.startswith("-"):
            return word
    return None


def absolute_path(word: Word) -> str:
    """The path of a word as far as it is certain, normalised; empty if that is none from the root on."""
    start = word.start if word.certain else word.start[: word.start.rfind("/") + 1]
    if not start.startswith("/") or start.startswith("//") or not _PLAIN_PATH.fullmatch(start):
        return ""
    path = posixpath.normpath(start)
    return "" if path == "/" else path


def relative_path(word: Word) -> str:
    """The path of a word that is certain and plainly a file below some other folder; else empty."""
    value = word.value
    if not word.certain or value.startswith(("/", "-", "~")) or not _PLAIN_PATH.fullmatch(value):
        return ""
    return posixpath.normpath(value)
