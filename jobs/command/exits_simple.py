"""What simple commands do when a start command is gone through: programs, calls, assignments. Pure."""

from __future__ import annotations

import posixpath
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from jobs.command.exits_inner import Inner
from jobs.command.exits_programs import SHELLS, Called, Kind, called
from jobs.command.exits_state import FINE, OPEN, State, Status, items_of, text_of
from jobs.command.exits_tree import Assignment, Block, Item, Part, Program, Simple, Word
from jobs.command.words import NOT_KNOWN

DEEPEST_CALL = 12  # functions, and scripts within scripts


class Leaves(Exception):
    """The shell, a function or a loop is left: by exit, return, break or continue."""

    def __init__(self, kind: str, status: Status, loops: int = 1) -> None:
        super().__init__(kind)
        self.kind, self.status, self.loops = kind, status, loops
        self.state = State()  # at the place that is left, where several ways were gone

    @property
    def tells(self) -> bool:
        return self.kind in {"exit", "return"} and self.status.zero is not True


class NeverEnds(Exception):
    """A loop that nothing ends: then the command has no end that could hide anything."""


class TooMuch(Exception):
    """More steps than one analysis may take."""


@dataclass(slots=True)
class Steps:
    left: int


Builtin = Callable[["Commands", Simple, Sequence[Word], State], Status]


class Commands(ABC):
    """`failing` is the simple command that fails: each time, or with `once` the first time only.

    Without it everything goes well, and `works` and `scripts` tell what was met.
    """

    builtins: ClassVar[Mapping[str, Builtin]]

    def __init__(
        self, inner: Inner, steps: Steps, failing: Part | None = None, *, once: bool = False
    ) -> None:
        self.inner, self.steps, self.failing, self.once = inner, steps, failing, once
        self.works: dict[Part, Kind] = {}
        self.met_again: set[Part] = set()
        self.changes_folder: set[Part] = set()
        self.scripts: list[str] = []
        self.odd_exits: list[Part] = []
        self.last_exit: Part | None = None
        self.backgrounds: list[Item] = []
        self.made: set[str] = set()
        self.asked = False  # something was decided by whether it failed
        self.ran_after = False
        self.depth = 0
        self.left: Status | None = None  # what EXIT began with

    @abstractmethod
    def block(self, block: Block, state: State, quiet: bool) -> Status:
        """How a sequence of lines ends."""

    @abstractmethod
    def part(self, part: Part, state: State, quiet: bool) -> Status:
        """How one part of a line ends."""

    @abstractmethod
    def shell(self, block: Block, state: State, quiet: bool) -> Status:
        """The same in a shell of its own: nothing it sets stays."""

    def tick(self) -> None:
        self.steps.left -= 1
        if self.steps.left < 0:
            raise TooMuch

    def ended(self, status: Status, state: State, quiet: bool) -> Status:
        """After a command that is no pipe: as `checked`, and `PIPESTATUS` is of this command alone."""
        state.stages = (status.seen(),)
        return self.checked(status, state, quiet)

    def checked(self, status: Status, state: State, quiet: bool) -> Status:
        """After a command: `trap … ERR` and `set -e`, where they look at all (not if `quiet`)."""
        if status.zero is not False or quiet or status.exempt:
            return status
        trap = state.traps.pop("ERR", None)
        if trap is not None:
            state.status = status
            try:
                self.block(trap.block, state, True)
            except Leaves as leaves:
                if leaves.kind == "exit" and leaves.status.zero and status.telling:
                    state.drop("exit_trap", trap.part, self.last_exit)
                raise
            finally:
                state.traps.setdefault("ERR", trap)
        if state.errexit:
            raise Leaves("exit", status)
        return status

    def simple(self, part: Simple, state: State, quiet: bool) -> Status:
        self.tick()
        given = self.expansions(part, state, quiet)
        if not part.words:
            self.assign(part.assignments, state)
            return self.ended(given or FINE, state, quiet)
        words, texts = self.said(part.words, state)
        while texts[0] in {"command", "builtin"} and len(texts) > 1 and not texts[1].startswith("-"):
            words, texts = words[1:], texts[1:]
        builtin = self.builtins.get(texts[0])
        if texts[0] in state.functions:
            status = self.call(texts[0], state, quiet)
        elif builtin is not None:
            status = builtin(self, part, words[1:], state)
        else:
            status = self.program(part, words, texts, state, quiet)
        return self.ended(status, state, quiet)

    def said(self, words: Sequence[Word], state: State) -> tuple[Sequence[Word], tuple[str, ...]]:
        """The words with what they are; a variable in the first place may hold several words."""
        texts = [
            word.literal if word.literal is not None else text_of(state.value_of(word), NOT_KNOWN)
            for word in words
        ]
        first = texts[0].split()
        if words[0].literal is None and len(first) > 1:
            words, texts = (*[words[0]] * len(first), *words[1:]), [*first, *texts[1:]]
        return words, tuple(texts)

    def expansions(self, part: Simple, state: State, quiet: bool) -> Status | None:
        """Runs `$(…)` and `<(…)` in the words: the status of the last `$(…)` among plain assignments."""
        last: Status | None = None
        plain = not part.words
        values = [value for assignment in part.assignments for value in assignment.values]
        for word in (*part.words, *values, *part.redirects):
            for run in word.runs:
                last = self.substituted(run, state, quiet)
                if last.telling and (not plain or word not in values):
                    state.drop("exit_masked", part)
            for feed in word.feeds:
                if self.apart(feed, state, quiet, state.errexit).telling:
                    state.drop("exit_masked", part)
        return last if plain and any(value.runs for value in values) else None

    def apart(self, block: Block, state: State, quiet: bool, errexit: bool, *, loops: int = 0) -> Status:
        child = state.child()
        child.loops = loops
        child.errexit = errexit
        status = self.shell(block, child, quiet)
        state.learn(child)
        return status.seen()

    def substituted(self, run: Block, state: State, quiet: bool) -> Status:
        """Of `$(…)`: without `set -e`, which bash does not hand on."""
        return self.apart(run, state, quiet, state.errexit and state.inherit_errexit, loops=state.loops)

    def assign(self, assignments: Sequence[Assignment], state: State) -> None:
        for given in assignments:
            if given.sum is not None:
                number = self.counted(given, state)
                state.assign(given.name, str(number) if isinstance(number, int) else number)
            elif given.is_list:
                items = tuple(item for word in given.values for item in items_of(state.value_of(word)))
                state.assign(given.name, items, adds=given.adds)
            else:
                state.assign(
                    given.name, state.value_of(given.values[0]) if given.values else "", adds=given.adds
                )

    @abstractmethod
    def counted(self, given: Assignment, state: State) -> int | Status | None:
        """What arithmetic gives, where that is certain."""

    def call(self, name: str, state: State, quiet: bool) -> Status:
        if self.depth >= DEEPEST_CALL:
            return OPEN
        traps = state.traps
        if "ERR" in traps and not state.errtrace:
            state.traps = {key: trap for key, trap in traps.items() if key != "ERR"}
        loops, state.loops = state.loops, 0
        state.calls += 1
        self.depth += 1
        try:
            status = self.part(state.functions[name].body, state, quiet)
        except Leaves as leaves:
            if leaves.kind != "return":
                raise
            status = leaves.status
        finally:
            self.depth -= 1
            state.calls -= 1
            state.loops = loops
        if "ERR" in traps:
            state.traps = {"ERR": traps["ERR"], **state.traps}
        return status.seen()

    def program(
        self, part: Simple, words: Sequence[Word], texts: tuple[str, ...], state: State, quiet: bool
    ) -> Status:
        it = called(texts)
        inner = self.script_of(part, words, texts, it) if self.depth < DEEPEST_CALL else None
        if inner is not None:
            status = self.new_shell(inner[0], inner[1], state)
        elif texts == ("exec",):
            return FINE
        elif it.at and it.name in self.builtins and texts[0] != "exec":
            status = self.builtins[it.name](self, part, words[it.at + 1 :], state)
        elif it.at and it.name in state.functions:
            status = self.call(it.name, state, quiet)
        else:
            status = self.outcome(part, texts, it, state)
        if texts[0] == "exec":
            raise Leaves("exit", status)
        return status

    def outcome(self, part: Part, texts: Sequence[str], it: Called, state: State) -> Status:
        """How a program ends that is none of the shell's own."""
        self.note_script(it, state)
        if it.kind in {Kind.EASY, Kind.ASKS}:
            self.easy(it.name, texts[it.at + 1 :], state)
            return FINE if it.kind is Kind.EASY else OPEN
        self.met(part, it.kind)
        if part is self.failing and not (self.once and state.fired):
            state.fired = True
            return Status(False, telling=True)
        self.ran_after = self.ran_after or state.fired
        if state.misled and it.relative:
            state.followed = True
            return Status(False, telling=True)
        return Status(by_work=True)

    def met(self, part: Part, kind: Kind) -> None:
        if part in self.works:
            self.met_again.add(part)
        self.works[part] = kind

    def easy(self, name: str, rest: Sequence[str], state: State) -> None:
        if name in {"mkdir", "git"}:
            self.made |= {word.rstrip("/") for word in rest}
        if name in {"read", "mapfile", "readarray", "printf", "let", "getopts"}:
            for word in rest:
                if (variable := re.match(r"\w+", word)) and variable[0] in state.variables:
                    state.variables[variable[0]] = None

    def note_script(self, it: Called, state: State) -> None:
        path = it.script
        if path is not None and not path.startswith("/"):
            path = f"{state.folder}/{path}" if state.folder else None
        if path is not None:
            self.scripts.append(posixpath.normpath(path))

    def script_of(
        self, part: Simple, words: Sequence[Word], texts: Sequence[str], it: Called
    ) -> tuple[Program, Sequence[str]] | None:
        """The script within a command, and the options of its shell."""
        if it.inner is not None:
            program = self.inner.of_word(words[it.inner[0]])
            return None if program is None else (program, it.inner[1])
        rest = texts[it.at + 1 :]
        if it.name in SHELLS and all(word.startswith("-") or word == "pipefail" for word in rest):
            program = self.inner.of_heredoc(part)
            return None if program is None else (program, rest)
        return None

    def new_shell(self, program: Program, options: Sequence[str], state: State) -> Status:
        child = State(variables=dict(state.variables), folder=state.folder, misled=state.misled)
        child.fired, child.drops, child.followed = state.fired, state.drops, state.followed
        child.set_options(options)
        self.depth += 1
        try:
            status = self.shell(program.block, child, False)
        finally:
            self.depth -= 1
        state.learn(child)
        return status.seen()
