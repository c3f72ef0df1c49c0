"""Pipes and lists of a start command, put together by what binds closer in bash. Pure."""

from __future__ import annotations

from dataclasses import replace

from jobs.command.exits_tree import AndOr, Not, Part, Pipeline, Simple, Word


def widened(part: Part, end: int, redirects: tuple[Word, ...]) -> Part:
    """The statement with its redirects."""
    if isinstance(part, Simple):
        return replace(part, end=end, redirects=part.redirects + redirects)
    return replace(part, end=end)


class Chain:
    """Statements and what stands between them, in the order of the text."""

    def __init__(self) -> None:
        self.sides: list[Part] = []
        self.operators: list[str] = []
        self.stages: list[Part] = []
        self.negated_at: int | None = None
        self.open = True  # a statement is to come
        self.sound = True

    def statement(self, part: Part) -> None:
        self.sound = self.sound and self.open
        self.open = False
        self.stages.append(part)

    def redirect(self, words: list[Word], end: int) -> None:
        if self.stages:
            self.stages[-1] = widened(self.stages[-1], end, tuple(words))

    def negate(self, place: int) -> None:
        self.sound = self.sound and self.open and not self.stages and self.negated_at is None
        self.negated_at = place

    def operator(self, sign: str) -> None:
        self.sound = self.sound and not self.open and sign in {"|", "|&", "&&", "||"}
        self.open = True
        if sign in {"&&", "||"}:
            self._close()
            self.operators.append(sign)

    def _close(self) -> None:
        if not self.stages:
            self.sound = False
            return
        first, last = self.stages[0], self.stages[-1]
        side = (
            Pipeline(first.source, first.start, last.end, tuple(self.stages)) if first is not last else first
        )
        if self.negated_at is not None:
            side = Not(side.source, self.negated_at, side.end, side)
        self.sides.append(side)
        self.stages, self.negated_at = [], None

    def whole(self) -> Part | None:
        """None if it is no chain after all."""
        self._close()
        if not self.sound or self.open:
            return None
        first, last = self.sides[0], self.sides[-1]
        if len(self.sides) == 1:
            return first
        return AndOr(first.source, first.start, last.end, tuple(self.sides), tuple(self.operators))
