"""Launchers of distributed training, and the options given to them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.command.simple import Command, names
from jobs.command.words import Word

PYTHON = names("python python3")
TORCH_MODULES = names("torch.distributed.run torch.distributed.launch")
_FLAGS = names("standalone no_python m module use_env no_ssh_check multi_gpu allow_run_as_root cpu")


@dataclass(frozen=True, slots=True)
class Option:
    """An option by its name with `_`, and its value. `written` is all of it as it stands in its line; empty
    if it spans lines, or if its value comes from a variable: then there is not one place to change."""

    name: str
    value: Word
    written: str
    line: int

    def rewritten(self, right: str) -> str:
        """The option with another value, written and quoted as before."""
        quote = '"' if self.value.raw.endswith('"') and "$" in right else ""
        for separator in ("=", " "):
            name, found, _value = self.written.partition(separator)
            if found:
                return f"{name}{separator}{quote}{right}{quote}"
        return self.written


@dataclass(frozen=True, slots=True)
class Launch:
    """`kind` is torchrun, accelerate or mpirun; `name` the word behind which options may be put.
    `opaque`: it may have more options that only the run can tell."""

    kind: str
    name: Word
    options: dict[str, Option]
    opaque: bool
    command: Command

    @property
    def line(self) -> int:
        return self.command.line

    def get(self, *wanted: str) -> Option | None:
        return next((self.options[name] for name in wanted if name in self.options), None)

    def literal(self, *wanted: str) -> tuple[Option, int] | None:
        """An option whose value is a number for certain."""
        option = self.get(*wanted)
        if option is None or not option.value.value.isdecimal() or len(option.value.value) > 9:
            return None
        return option, int(option.value.value)


def launch_of(command: Command) -> Launch | None:
    """The launcher that a command is, if it is one."""
    words, program = command.words, command.program
    if program == "torchrun":
        return _launch("torchrun", command.name, words, command)
    if program in PYTHON:
        for i, word in enumerate(words[:-1]):
            if word.value == "-m" and words[i + 1].value in TORCH_MODULES:
                return _launch("torchrun", words[i + 1], words[i + 2 :], command)
            if not word.value.startswith("-"):
                return None
    if program == "accelerate" and words and words[0].value == "launch":
        return _launch("accelerate", words[0], words[1:], command)
    if program in ("mpirun", "mpiexec"):
        return _launch("mpirun", command.name, words, command)
    return None


def _launch(kind: str, name: Word, words: Sequence[Word], command: Command) -> Launch:
    """Reads options up to the script: what comes behind belongs to the script."""
    options: dict[str, Option] = {}
    opaque, at = False, 0
    while at < len(words):
        word = words[at]
        at += 1
        if word.value.startswith("\0"):
            opaque = True
        elif not word.value.startswith("-"):
            break
        else:
            option, used = _option(word, words[at : at + 1])
            options[option.name] = option
            at += used
    return Launch(kind, name, options, opaque, command)


def _option(word: Word, following: Sequence[Word]) -> tuple[Option, int]:
    """An option, and how many of the following words belong to it."""
    name, equals, value = word.value.lstrip("-").partition("=")
    key = name.replace("-", "_")
    if equals:
        raw = word.raw.partition("=")[2]
        return Option(key, Word(value, raw, word.line), _changeable(word.raw, raw, value), word.line), 0
    if key in _FLAGS or not following or following[0].value.startswith("-"):
        return Option(key, word.part(""), word.raw, word.line), 0
    given = following[0]
    written = f"{word.raw} {given.raw}" if word.line == given.line else ""
    return Option(key, given, _changeable(written, given.raw, given.value), given.line), 1


def _changeable(written: str, raw: str, value: str) -> str:
    """What was written, unless its value is known only because a variable was followed."""
    return "" if "$" in raw and "\0" not in value else written
