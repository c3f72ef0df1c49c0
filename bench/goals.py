"""What a benchmark answers, and how it is printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Result:
    """`value` against `goal`; `at_most` tells on which side of the goal is good."""

    name: str
    value: float
    goal: float
    at_most: bool
    unit: str = "x"
    note: str = ""

    def line(self) -> str:
        good = self.value <= self.goal if self.at_most else self.value >= self.goal
        sign = "≤" if self.at_most else "≥"
        note = f" · {self.note}" if self.note else ""
        goal = f"(goal {sign} {self.goal:g}{self.unit})"
        return f"{self.name}: {self.value:.2f}{self.unit} {goal} {'ok' if good else 'short'}{note}"


Benchmark = Callable[[], Result]
