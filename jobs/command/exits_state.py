"""What a shell knows at a place of a command, as far as it matters for how the command ends. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from jobs.command.exits_tree import Block, Define, Part, Word

MOST_ITEMS = 32  # of a list that a variable holds
MOST_DROPS = 8  # the first ones decide
MOST_TEXT = 4096  # characters of a value: texts that double themselves end here
OPTIONS = {"e": "errexit", "E": "errtrace"}
NAMED = {"errexit", "pipefail", "errtrace", "inherit_errexit"}
NAME = re.compile(r"\$(?:(\w+)|\{(\w+)(?:\[([^\]]+)\])?(?::?[-=][^}]*)?\})")
ALL_PROCESSES = re.compile(r"\"?\$\(\s*jobs -p\s*\)\"?|`jobs -p`")
PIECE = re.compile(r"\$(?:[A-Za-z_]\w*|[?!]|\{[^{}$]*\})")


@dataclass(frozen=True, slots=True)
class Status:
    """How a statement ended: `zero` is None if that is open.

    `telling`: by the failure that is followed; `by_work`: it is what a program of the job's work gave;
    `exempt`: it came from a place where `set -e` does not look, such as the left of `&&`.
    """

    zero: bool | None = True
    telling: bool = False
    by_work: bool = False
    exempt: bool = False

    def seen(self) -> Status:
        """The same where `set -e` looks."""
        return replace(self, exempt=False) if self.exempt else self

    def turned(self) -> Status:
        zero = None if self.zero is None else not self.zero
        return replace(self, zero=zero, by_work=False, exempt=True)


FINE = Status()
FAILS = Status(False)
OPEN = Status(None)


@dataclass(frozen=True, slots=True)
class Process:
    """A process in the background, by its place in `State.processes`."""

    number: int


Value = str | Status | Process | tuple["Value", ...] | None


@dataclass(frozen=True, slots=True)
class Drop:
    """A place at which the failure that is followed is let go: the code of the finding, where it stands,
    and what was chosen instead (the right of `||`, the branch that ran)."""

    code: str
    part: Part
    chosen: Part | None = None
    block: Block | None = None


@dataclass(frozen=True, slots=True)
class Trap:
    """What runs on EXIT or ERR, and the command that said so."""

    block: Block
    part: Part


@dataclass(slots=True)
class State:
    errexit: bool = False
    pipefail: bool = False
    inherit_errexit: bool = False
    errtrace: bool = False
    status: Status = FINE
    stages: tuple[Value, ...] = (FINE,)
    variables: dict[str, Value] = field(default_factory=dict)
    functions: dict[str, Define] = field(default_factory=dict)
    traps: dict[str, Trap] = field(default_factory=dict)
    processes: tuple[Status, ...] = ()
    started: tuple[Part, ...] = ()  # where each of them stands
    fired: bool = False
    misled: bool = False  # runs on in a wrong folder
    followed: bool = False  # a further program failed by itself because of that
    folder: str | None = None
    loops: int = 0  # around this place, of this shell and function
    calls: int = 0
    drops: tuple[Drop, ...] = ()

    def copy(self) -> State:
        return replace(
            self,
            variables=dict(self.variables),
            functions=dict(self.functions),
            traps=dict(self.traps),
        )

    def child(self) -> State:
        """The state of a shell that starts from this one.

        Traps stay behind, but for ERR under `set -E`; it cannot wait for processes that it has not started.
        """
        state = self.copy()
        state.processes = (FAILS,) * len(self.processes)
        state.traps = {name: what for name, what in self.traps.items() if name == "ERR" and self.errtrace}
        return state

    def learn(self, child: State) -> None:
        """What a child's end tells its parent: not its variables, but what became of the failure."""
        self.fired, self.drops = child.fired, child.drops
        self.followed = self.followed or child.followed

    def take(self, other: State) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(other, name))

    def drop(self, code: str, part: Part, chosen: Part | None = None, block: Block | None = None) -> None:
        if len(self.drops) < MOST_DROPS:
            self.drops += (Drop(code, part, chosen, block),)

    def set_options(self, options: Sequence[str]) -> None:
        """Takes over what is said as to `set`: also several letters at once, and `-o name`."""
        named: str | None = None
        for option in options:
            if option == "--":
                return
            if named is not None:
                if option in NAMED:
                    setattr(self, option, named == "-")
                named = None
            elif option[:1] in {"-", "+"}:
                for letter in option[1:]:
                    if letter in OPTIONS:
                        setattr(self, OPTIONS[letter], option[0] == "-")
                    named = option[0] if letter == "o" else named

    def value_of(self, word: Word) -> Value:
        """What the word stands for, as far as it is certain."""
        if ALL_PROCESSES.fullmatch(word.text):
            return tuple(Process(number) for number in range(len(self.processes)))[:MOST_ITEMS]
        return word.literal if word.literal is not None else self.value(_unquoted(word.text))

    def value(self, text: str) -> Value:
        if not re.search(r"\s", text):
            return self._single(text)
        items = tuple(
            item
            for piece in text.split()
            for item in _flat(self.value(piece))
            if item != "" and item is not None
        )
        return items[:MOST_ITEMS] if any(not isinstance(item, str) for item in items) else self._text(text)

    def _single(self, text: str) -> Value:
        if text in {"$?", "${?}"}:
            return self.status
        if text in {"$!", "${!}"}:
            return Process(len(self.processes) - 1) if self.processes else ""
        match = NAME.fullmatch(text)
        if match is None:
            return text if "$" not in text and "`" not in text else self._text(text)
        name, key = match[1] or match[2], match[3]
        value = self.stages if name == "PIPESTATUS" else self.variables.get(name)
        if key is None:
            is_array = name == "PIPESTATUS"
            return value[0] if is_array and isinstance(value, tuple) and value else value
        return _item(value, key)

    def _text(self, text: str) -> str | None:
        """A text with variables in it, if all of them are certain texts."""
        parts = PIECE.split(text)
        if PIECE.fullmatch(text):
            return None  # an expansion of a kind that is not read
        values = [self._single(piece) for piece in PIECE.findall(text)]
        if not all(isinstance(value, str) for value in values) or re.search(r"[$`]", "".join(parts)):
            return None
        text = "".join(part + str(value) for part, value in zip(parts, [*values, ""], strict=True))
        return text if len(text) <= MOST_TEXT else None

    def assign(self, name: str, value: Value, *, adds: bool = False) -> None:
        if adds:
            old = self.variables.get(name)
            value = (_flat(old) + _flat(value))[:MOST_ITEMS] if value is not None else old
        self.variables[name] = value

    def go(self, target: str | None) -> None:
        """The folder after `cd target`."""
        if target is None or target == "-":
            self.folder = None
        elif target.startswith("/"):
            self.folder = posixpath.normpath(target)
        elif self.folder is not None and not target.startswith("~"):
            self.folder = posixpath.normpath(posixpath.join(self.folder, target))
        else:
            self.folder = None


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _flat(value: Value) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else () if value is None else (value,)


def items_of(value: Value) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else (value,)


def text_of(value: Value, otherwise: str = "") -> str:
    return value if isinstance(value, str) else otherwise


def _item(value: Value, key: str) -> Value:
    if key in {"@", "*"}:
        return value
    if isinstance(value, tuple) and re.fullmatch(r"-?\d{1,3}", key) and -len(value) <= int(key) < len(value):
        return value[int(key)]
    return None


def number_of(value: Value) -> int | Status | None:
    """A value as a number. A status that is not zero stays one: its number is open, and above zero."""
    if isinstance(value, Status):
        return 0 if value.zero else None if value.zero is None else value
    if isinstance(value, str) and re.fullmatch(r"\s*[-+]?\d{1,18}\s*", value):
        return int(value)
    return None


def joined(paths: list[State]) -> State:
    """One state for ways of which any may have been gone. At least one is given.

    Ways that do not come to the failure tell nothing about it. What differs is open.
    """
    ways = [state for state in paths if state.fired] or paths
    first = ways[0]
    for other in ways[1:]:
        names = first.variables.keys() | other.variables.keys()
        first.variables = {
            name: first.variables.get(name)
            if first.variables.get(name) == other.variables.get(name)
            else None
            for name in names
        }
        first.functions = other.functions | first.functions
        first.traps = other.traps | first.traps
        first.errexit = first.errexit or other.errexit
        first.pipefail = first.pipefail or other.pipefail
        first.status = first.status if first.status == other.status else OPEN
        first.stages = first.stages if first.stages == other.stages else (None,)
        first.folder = first.folder if first.folder == other.folder else None
        first.misled = first.misled or other.misled
        first.followed = first.followed or other.followed
        if len(other.processes) > len(first.processes):
            first.processes, first.started = other.processes, other.started
        first.drops = first.drops or other.drops
    return first
