"""A start command as statements: what `exits_run` walks through. Pure; nothing of it is run.

It says less than the parser's tree, only what matters for how a command ends, and keeps of each statement
where it stands. What is not understood becomes `Opaque`: it may end in any way.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A text of statements: the command itself, or one within it (`bash -c '…'`, a here-document).

    `line` is the line of the command in which it begins, from 1; `at` the byte of the command at which it
    stands unchanged, None if it does not; `quote` the sign around it there.
    """

    data: bytes
    line: int = 1
    at: int | None = 0
    quote: str = ""
    heredocs: tuple[Heredoc, ...] = ()

    def piece(self, start: int, end: int) -> str:
        return self.data[start:end].decode(errors="replace")

    def line_of(self, place: int) -> int:
        return self.line + self.data.count(b"\n", 0, place)


@dataclass(frozen=True, slots=True)
class Heredoc:
    start: int
    body_start: int
    body_end: int


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A piece of a source, by bytes. Two parts are the same only if they are one object."""

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.piece(self.start, self.end)

    @property
    def line(self) -> int:
        return self.source.line_of(self.start)


@dataclass(frozen=True, slots=True, eq=False)
class Item(Part):
    """One statement of a block, with the & after it if there is one."""

    body: Part
    background: bool


Block = tuple[Item, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Word(Part):
    """`literal` is what it stands for if nothing in it is expanded; `runs` are the scripts of `$(…)` in it,
    `feeds` those of `<(…)` and `>(…)`."""

    literal: str | None = None
    runs: tuple[Block, ...] = ()
    feeds: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Assignment(Part):
    name: str
    adds: bool
    values: tuple[Word, ...]
    is_list: bool = False
    sum: Expression | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Expression(Part):
    """Of `[ ]`, `[[ ]]`, `(( ))`: an operator with what stands beside it, or a single word."""

    operator: str
    sides: tuple[Expression, ...] = ()
    word: Word | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Simple(Part):
    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Pipeline(Part):
    stages: tuple[Part, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AndOr(Part):
    """`operators[i]` stands before `sides[i + 1]`."""

    sides: tuple[Part, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Not(Part):
    body: Part


@dataclass(frozen=True, slots=True, eq=False)
class Group(Part):
    """`{ …; }`, or `( … )` in a shell of its own."""

    block: Block
    apart: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class If(Part):
    arms: tuple[tuple[Block, Block], ...]
    otherwise: Block | None


@dataclass(frozen=True, slots=True, eq=False)
class Loop(Part):
    """`kind` is for, while or until; `words` are those of a for, None if they are not written out."""

    kind: str
    block: Block
    condition: Block = ()
    variable: str = ""
    words: tuple[Word, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Case(Part):
    subject: Word
    arms: tuple[tuple[tuple[str, ...], Block], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Define(Part):
    name: str
    body: Part


@dataclass(frozen=True, slots=True, eq=False)
class Test(Part):
    """`counts` tells `(( ))` from `[ ]` and `[[ ]]`."""

    expression: Expression | None
    counts: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Opaque(Part):
    pass


@dataclass(frozen=True, slots=True)
class Program:
    """`wrong_at` is the first byte that is no bash; None if all of it is."""

    source: Source
    block: Block
    wrong_at: int | None = None
