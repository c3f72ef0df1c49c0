"""What a form holds besides its fields: rows, and what could not be understood."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Row:
    """A row as typed: variable and value, or volume and mount path. `at` is its index in the request."""

    left: str
    right: str
    at: int | None = None
    errors: list[str] = field(default_factory=list)
    focus: bool = False

    def refuse(self, path: str, text: str) -> None:
        """Takes an error of the field at that path of the request."""
        self.errors.append(text)

    @property
    def empty(self) -> bool:
        return not (self.left.strip() or self.right.strip())


@dataclass(frozen=True, slots=True)
class Unclear:
    """What could not be understood at all, such as a number that is none."""

    field: str
    text: str
    row: int = 0
