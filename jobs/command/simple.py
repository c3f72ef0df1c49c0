"""The simple commands of a shell text: program and words, without what is only wrapped around them. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass

from jobs.command.words import Word


@dataclass(frozen=True, slots=True)
class Redirect:
    operator: str  # as written: > >> &> <
    target: Word

    @property
    def writes(self) -> bool:
        return ">" in self.operator


@dataclass(frozen=True, slots=True)
class Assignment:
    """`certain`: the line runs in any case, and lasts. `only_for`: set for one command, as in `A=1 train`."""

    name: str
    value: Word
    line: int
    certain: bool = True
    only_for: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """`wrapping` are the words of time, env, timeout … before the program, whose base name is `program`
    (empty if only the run can tell). Commands of one pipeline have the same number in `pipeline`, from 1.
    `certain`: it runs in any case, as far as the text goes."""

    program: str
    name: Word
    words: tuple[Word, ...]
    wrapping: tuple[Word, ...] = ()
    assigned: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    pipeline: int = 0
    certain: bool = True

    @property
    def line(self) -> int:
        return self.name.line

    @property
    def opaque(self) -> bool:
        """Whether it may have further words that only the run can tell."""
        return any(word.value.startswith("\0") for word in self.words)


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a program is put before another: options that take a word of their own, words before the other."""

    with_value: frozenset[str] = frozenset()
    operands: int = 0
    assigns: bool = False
    sub: str = ""  # its subcommand, such as `run`


def names(text: str) -> frozenset[str]:
    """A set of names, written as a list with blanks."""
    return frozenset(text.split())


WRAPPERS = {
    "time": Wrapper(names("-o -f --output --format")),
    "nohup": Wrapper(),
    "exec": Wrapper(names("-a")),
    "command": Wrapper(),
    "builtin": Wrapper(),
    "setsid": Wrapper(),
    "env": Wrapper(names("-u --unset -C --chdir -S"), assigns=True),
    "timeout": Wrapper(names("-k --kill-after -s --signal"), operands=1),
    "nice": Wrapper(names("-n --adjustment")),
    "ionice": Wrapper(names("-c --class -n --classdata")),
    "stdbuf": Wrapper(names("-i -o -e --input --output --error")),
    "sudo": Wrapper(names("-u --user -g --group"), assigns=True),
    "numactl": Wrapper(names("-N -m -C -i -p")),
    "taskset": Wrapper(operands=1),
    "unbuffer": Wrapper(),
    "xvfb-run": Wrapper(names("-n -s --server-args")),
    "conda": Wrapper(names("-n --name -p --prefix"), sub="run"),
    "micromamba": Wrapper(names("-n --name -p --prefix"), sub="run"),
    "uv": Wrapper(names("--with --python -p"), sub="run"),
    "poetry": Wrapper(sub="run"),
}


def base_name(word: Word) -> str:
    """The program's name without its folder and version (`python3.11` is `python3`); empty if not certain."""
    if "\0" in posixpath.basename(word.value):
        return ""
    name = posixpath.basename(word.value)
    return "python3" if name.startswith("python3.") else name


def program_at(words: Sequence[Word]) -> int:
    """Where in a command the program stands that does the work; the first word if nothing is around it."""
    at = 0
    while at < len(words) and (wrapper := WRAPPERS.get(base_name(words[at]))):
        inner = _behind(wrapper, words, at + 1)
        if inner is None or inner >= len(words):
            return at
        at = inner
    return at


def _behind(wrapper: Wrapper, words: Sequence[Word], at: int) -> int | None:
    """The first word behind a wrapper's own; None if it is used in another way."""
    if wrapper.sub:
        if at >= len(words) or words[at].value != wrapper.sub:
            return None
        at += 1
    operands = wrapper.operands
    while at < len(words):
        value = words[at].value
        if value.startswith("-") and value != "--":
            at += 2 if value in wrapper.with_value else 1
        elif value == "--" or (wrapper.assigns and "=" in words[at].start):
            at += 1
        elif operands:
            operands, at = operands - 1, at + 1
        else:
            return at
    return at
