"""How a start command ends if one of its programs fails: it is gone through as bash would. Pure.

Nothing is run. All programs are taken to go well but one, and what bash makes of its failure is followed:
`set -e`, pipes, lists, conditions, traps, processes in the background, variables that keep an exit code.
Where the way depends on what only the run can tell, all ways are gone; a failure that comes out on any of
them counts as told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

from jobs.command.exits_builtins import BUILTINS
from jobs.command.exits_simple import Builtin, Commands, Leaves, NeverEnds
from jobs.command.exits_state import FINE, OPEN, Drop, State, Status, Value, joined
from jobs.command.exits_tests import counted, tells, true
from jobs.command.exits_tree import (
    AndOr,
    Assignment,
    Block,
    Case,
    Define,
    Expression,
    Group,
    If,
    Item,
    Loop,
    Not,
    Part,
    Pipeline,
    Program,
    Simple,
    Test,
    Word,
)

MOST_ARMS = 24
MOST_TURNS = 8
TURNS = 2  # of a loop whose number of turns is open
Way = Callable[[State], Status]


@dataclass(frozen=True, slots=True)
class End:
    """`fired`: the failure was met at all; `ended`: the command came to an end."""

    status: Status
    fired: bool = False
    followed: bool = False
    drops: tuple[Drop, ...] = ()
    ended: bool = True

    @property
    def hidden(self) -> bool:
        return self.fired and self.ended and self.status.zero is True and not self.followed


class Run(Commands):
    builtins: ClassVar[Mapping[str, Builtin]] = BUILTINS

    def end_of(self, program: Program) -> End:
        state = State()
        try:
            status = self.shell(program.block, state, False)
        except NeverEnds:
            return End(OPEN, state.fired, ended=False)
        return End(status, state.fired, state.followed, state.drops)

    def shell(self, block: Block, state: State, quiet: bool) -> Status:
        """A shell from its start to its end, with what it does on EXIT."""
        try:
            status = self.block(block, state, quiet)
        except Leaves as leaves:
            status = leaves.status
        trap = state.traps.pop("EXIT", None)
        if trap is None:
            return status
        state.status = before = status
        outer, self.left = self.left, status
        try:
            self.block(trap.block, state, quiet)
        except Leaves as leaves:
            status = leaves.status
        self.left = outer
        if before.zero is False and status.zero and state.fired:
            state.drops = (Drop("exit_trap", trap.part, self.last_exit),)
        return status

    def block(self, block: Block, state: State, quiet: bool) -> Status:
        previous: Item | None = None
        for item in block:
            self.tick()
            if previous is not None and state.status.telling:
                state.drop(_code_of_going_on(item, state, quiet), previous.body, item.body)
            state.status = (
                self.background(item, state, quiet) if item.background else self.part(item.body, state, quiet)
            )
            previous = item
        return state.status if previous is not None else FINE

    def item(self, item: Item, state: State, quiet: bool) -> Status:
        return self.part(item.body, state, quiet)

    def background(self, item: Item, state: State, quiet: bool) -> Status:
        self.backgrounds.append(item)
        child = state.child()
        child.loops = 0
        try:
            status = self.shell((alone(item.body),), child, quiet)
        except NeverEnds:
            status = OPEN
        state.learn(child)
        state.processes += (status,)
        if status.telling:
            state.drop("exit_background", item)
        return FINE

    def part(self, part: Part, state: State, quiet: bool) -> Status:
        go = GOES.get(type(part))
        return OPEN if go is None else go(self, part, state, quiet)

    def pipeline(self, part: Pipeline, state: State, quiet: bool) -> Status:
        stages: list[Status] = []
        for stage in part.stages:
            self.tick()
            child = state.child()
            child.loops = 0
            try:
                stages.append(self.shell((alone(stage),), child, quiet))
            except NeverEnds:
                stages.append(FINE)
            state.learn(child)
        state.stages = tuple(stages)
        failed = [status for status in stages if status.zero is False]
        status = failed[-1] if failed and state.pipefail else stages[-1]
        if not failed and state.pipefail and any(stage.zero is None for stage in stages):
            status = OPEN
        if not status.telling and any(stage.telling and stage.zero is False for stage in stages):
            state.drop("exit_pipe", part, part.stages[-1])
        return self.checked(status.seen(), state, quiet)

    def and_or(self, part: AndOr, state: State, quiet: bool) -> Status:
        status = self.part(part.sides[0], state, True)
        last = len(part.sides) - 1
        for number, (operator, side) in enumerate(zip(part.operators, part.sides[1:], strict=True), start=1):
            self.tick()
            wanted = operator == "&&"
            hushed = quiet or number != last
            self.asked = self.asked or status.telling
            if status.zero is None:
                skipped = Status(not wanted, exempt=True)
                status = self.fork([_skip(skipped), self.way(side, hushed)], state)
            elif status.zero is wanted:
                if status.telling:
                    state.drop("exit_condition" if wanted else "exit_ignored", part, side)
                state.status = status
                status = self.part(side, state, hushed)
            else:
                status = replace(status, exempt=True)
        return status

    def way(self, part: Part, quiet: bool) -> Way:
        return lambda state: self.part(part, state, quiet)

    def way_of(self, block: Block, quiet: bool) -> Way:
        return lambda state: self.block(block, state, quiet)

    def negated(self, part: Not, state: State, quiet: bool) -> Status:
        status = self.part(part.body, state, True)
        if status.telling and not quiet:
            state.drop("exit_negated", part)
        return status.turned()

    def group(self, part: Group, state: State, quiet: bool) -> Status:
        if not part.apart:
            return self.block(part.block, state, quiet)
        return self.ended(self.apart(part.block, state, quiet, state.errexit), state, quiet)

    def choice(self, part: If, state: State, quiet: bool) -> Status:
        return self.arms(part, part.arms, state, quiet) if len(part.arms) <= MOST_ARMS else OPEN

    def arms(self, part: If, arms: Sequence[tuple[Block, Block]], state: State, quiet: bool) -> Status:
        if not arms:
            return self.block(part.otherwise, state, quiet) if part.otherwise is not None else FINE
        (condition, body), rest = arms[0], arms[1:]
        status = state.status = self.block(condition, state, True)
        if status.zero is None:
            return self.fork([self.way_of(body, quiet), lambda s: self.arms(part, rest, s, quiet)], state)
        if status.telling:
            self.asked = True
            chosen = body if status.zero else part.otherwise if not rest else None
            state.drop("exit_condition", part, None, chosen)
        return self.block(body, state, quiet) if status.zero else self.arms(part, rest, state, quiet)

    def fork(self, ways: Sequence[Way], state: State) -> Status:
        """All ways from here, as only the run can tell which one is gone."""
        passed: list[State] = []
        left: list[Leaves] = []
        for way in ways:
            self.tick()
            child = state.copy()
            try:
                child.status = way(child)
                passed.append(child)
            except Leaves as leaves:
                leaves.state = child
                left.append(leaves)
            except NeverEnds:
                continue
        if not passed and not left:
            raise NeverEnds
        fired = any(child.fired for child in passed) or any(leaves.state.fired for leaves in left)
        met = [child for child in passed if child.fired is fired]
        gone = [leaves for leaves in left if leaves.state.fired is fired]
        told = [leaves for leaves in gone if fired and leaves.tells]
        if told or not met:
            leaving = (told or gone)[0]
            state.take(leaving.state)
            raise leaving
        state.take(joined(met))
        return state.status

    def loop(self, part: Loop, state: State, quiet: bool) -> Status:
        if part.kind == "for" or part.words is not None:
            return self.each(part, state, quiet)
        return self.while_loop(part, state, quiet)

    def each(self, part: Loop, state: State, quiet: bool) -> Status:
        status = FINE
        for number, value in enumerate(self.turns(part, state, quiet)):
            if number and status.telling:
                state.drop("exit_loop", part.block[-1].body)
            state.assign(part.variable, value)
            status, ends = self.turn(part, state, quiet)
            if ends:
                break
        return status

    def turns(self, part: Loop, state: State, quiet: bool) -> Sequence[Value]:
        """What the variable is in each turn that is gone through."""
        values: list[Value] = []
        for word in part.words or ():
            self.substitutions(word, part, state, quiet)
            value = state.value_of(word)
            if isinstance(value, tuple):
                values += value
            else:
                values += [value] if word.literal is not None else [None] * TURNS
        if part.words is None:
            return [None] * TURNS
        return values if len(values) <= MOST_TURNS else values[-TURNS:]

    def turn(self, part: Loop, state: State, quiet: bool) -> tuple[Status, bool]:
        """One turn: how it ended, and whether it ended the loop."""
        self.tick()
        loops = state.loops
        state.loops = loops + 1
        try:
            status = self.block(part.block, state, quiet)
        except Leaves as leaves:
            if leaves.kind not in {"break", "continue"}:
                raise
            if leaves.loops > 1 and loops:
                raise Leaves(leaves.kind, leaves.status, leaves.loops - 1) from None
            return leaves.status, leaves.kind == "break"
        finally:
            state.loops = loops
        return status, False

    def while_loop(self, part: Loop, state: State, quiet: bool) -> Status:
        status = FINE
        goes_on = part.kind == "while"
        for number in range(TURNS):
            asked = self.block(part.condition, state, True)
            if asked.telling:
                self.asked = True
            if asked.zero is (not goes_on):
                if asked.telling:
                    state.drop("exit_condition", part, None, None)
                return status
            if number and status.telling:
                state.drop("exit_loop", part.block[-1].body)
            state.status = asked
            status, ends = self.turn(part, state, quiet)
            if ends:
                return status
        if asked.zero is not None and not asked.by_work:
            raise NeverEnds
        return status

    def case(self, part: Case, state: State, quiet: bool) -> Status:
        self.substitutions(part.subject, part, state, quiet)
        value = state.value_of(part.subject)
        chosen: list[Block] = []
        for patterns, block in part.arms:
            fits = _fits(value, patterns)
            if fits is not False:
                chosen.append(block)
            if fits:
                break
        else:
            chosen.append(())
        if len(chosen) == 1:
            return self.block(chosen[0], state, quiet)
        return self.fork([self.way_of(block, quiet) for block in chosen], state)

    def define(self, part: Define, state: State, quiet: bool) -> Status:
        state.functions[part.name] = part
        return FINE

    def test(self, part: Test, state: State, quiet: bool) -> Status:
        self.tick()
        words = _words_of(part.expression)
        for word in words:
            self.substitutions(word, part, state, quiet)
        telling = tells(words, state)
        if part.counts:
            number = counted(part.expression, state)
            truth = None if number is None else number != 0
        else:
            truth = true(part.expression, state)
        return self.ended(Status(truth, telling=telling), state, quiet)

    def substitutions(self, word: Word, part: Part, state: State, quiet: bool) -> None:
        for run in word.runs:
            if self.substituted(run, state, quiet).telling:
                state.drop("exit_masked", part)

    def counted(self, given: Assignment, state: State) -> int | Status | None:
        return counted(given.sum, state)


def _skip(status: Status) -> Way:
    return lambda state: status


def alone(part: Part) -> Item:
    return Item(part.source, part.start, part.end, part, False)


def _code_of_going_on(item: Item, state: State, quiet: bool) -> str:
    """What lets a command go on, or end well, after a statement that failed."""
    body = item.body
    if isinstance(body, Simple) and [word.literal for word in body.words] in (["exit", "0"], ["return", "0"]):
        return "exit_zero"
    if not state.errexit:
        return "exit_later_command"
    return "exit_errexit_ignored" if quiet else "exit_and_list"


def _fits(value: Value, patterns: Sequence[str]) -> bool | None:
    if "*" in patterns:
        return True
    if isinstance(value, Status) and value.zero is not None:
        if "0" in patterns:
            return value.zero
        return False if value.zero and all(pattern.isdigit() for pattern in patterns) else None
    if isinstance(value, str):
        plain = [pattern for pattern in patterns if pattern.replace("-", "").replace("_", "").isalnum()]
        return value in plain or (None if len(plain) < len(patterns) else False)
    return None


def _words_of(expression: Expression | None) -> list[Word]:
    words: list[Word] = []
    left = [expression] if expression else []
    while left:
        current = left.pop()
        words += [current.word] if current.word else []
        left += current.sides
    return words


Going = Callable[[Run, Part, State, bool], Status]
GOES: dict[type[Part], Going] = {
    kind: cast(Going, go)
    for kind, go in (
        (Simple, Run.simple),
        (Pipeline, Run.pipeline),
        (AndOr, Run.and_or),
        (Not, Run.negated),
        (Group, Run.group),
        (If, Run.choice),
        (Loop, Run.loop),
        (Case, Run.case),
        (Define, Run.define),
        (Test, Run.test),
    )
}
