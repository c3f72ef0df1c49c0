"""What is told of a notice, in one language: literal text, whoever wrote it. Plain values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Told:
    """`facts` are labels with their values. `path` is the page of it below the console's address. `log` are
    the last lines of output, oldest first. `name` is what people call the subject, `id` what REST does."""

    title: str
    text: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    path: str = "/"
    log: tuple[str, ...] = ()
    name: str = ""
    id: str = ""
