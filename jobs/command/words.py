"""Words of a shell text as bash would hand them over, as far as that is certain before it runs. Pure.

What only the run can tell stands in a value as a GAP: the name of a variable between two NUL signs, or two
NUL signs. A text with NUL signs of its own is refused anyway, and not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tree_sitter import Node

from jobs.command.shell import Script

GAP = "\0"
NOT_KNOWN = GAP + GAP
MOST_DEPTH = 20  # of quotes and expansions within each other; what is deeper is not known
MOST_VALUE = 4 * 2**10  # characters of one value, and
MOST_VALUES = 2**20  # of all: texts that double themselves end here
MOST_PIECES = 10_000  # words that variables are cut into, in all
_WITH_VALUE = (":-", "-", ":?", "?", ":=", "=")
_ALL_OF_ARRAY = ("@", "*")
_NAMED_GAP = re.compile(f"{GAP}([A-Za-z_][A-Za-z0-9_]*){GAP}")


@dataclass(frozen=True, slots=True)
class Word:
    """A word, as it was written (`raw`) and the line it stands in, from 1; 0: not in the command."""

    value: str
    raw: str
    line: int

    @property
    def certain(self) -> bool:
        return GAP not in self.value

    @property
    def start(self) -> str:
        """What the value begins with for certain."""
        return self.value.partition(GAP)[0]

    @property
    def shown(self) -> str:
        """The value with `${NAME}` where a variable is not known."""
        return _NAMED_GAP.sub(r"${\1}", self.value)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables in it whose values are not known."""
        return tuple(_NAMED_GAP.findall(self.value))

    def is_variable(self, name: str) -> bool:
        return self.value == GAP + name + GAP

    def part(self, value: str) -> Word:
        """The same place with another value."""
        return replace(self, value=value)


def gap(name: str) -> str:
    return GAP + name + GAP


@dataclass(slots=True)
class Budget:
    """What may still be worked out for one text, so that its length bounds the work."""

    characters: int = MOST_VALUES
    pieces: int = MOST_PIECES


class Values:
    """Values of variables at one place of a text; arrays are told apart by their name."""

    def __init__(
        self, script: Script, known: Mapping[str, Word], budget: Budget, line_offset: int = 0
    ) -> None:
        self.script = script
        self.budget = budget
        self.known = dict(known)
        self.arrays: dict[str, tuple[Word, ...]] = {}
        self.line_offset = line_offset

    def forget(self, name: str) -> None:
        self.known.pop(name, None)
        self.arrays.pop(name, None)

    def forget_all(self) -> None:
        self.known.clear()
        self.arrays.clear()

    def word(self, node: Node) -> Word:
        """The one word that a node stands for, not split."""
        return Word(self._value(node, 0), self.script.text_of(node), self.line(node))

    def words(self, node: Node) -> Iterator[Word]:
        """The words that a node becomes: none to many, if it is a variable without quotes, or an array."""
        array = self._array(node)
        if array is not None:
            self.budget.pieces -= len(array)
            yield from array if self.budget.pieces > 0 else [Word(NOT_KNOWN, "", self.line(node))]
            return
        word = self.word(node)
        variable = node.type in ("simple_expansion", "expansion")
        if variable and (word.certain or re.search(r"\s", word.value)):
            yield from self._pieces(node, word)
        else:
            yield word

    def line(self, node: Node) -> int:
        return self.script.line_of(node) + self.line_offset

    def _pieces(self, node: Node, word: Word) -> Iterator[Word]:
        """A value cut at blanks, each piece in the line where the variable got it."""
        origin = self.known.get(self._name(node) or "")
        pieces = word.value.split()
        self.budget.pieces -= len(pieces)
        for piece in pieces if self.budget.pieces > 0 else [NOT_KNOWN]:
            raw = _NAMED_GAP.sub(r"$\1", piece)
            yield Word(piece, raw, _line_within(origin, raw) if origin else word.line)

    def _array(self, node: Node) -> tuple[Word, ...] | None:
        if node.type == "string" and node.named_child_count == 1:
            node = node.named_children[0]
        if node.type != "expansion" or not node.named_children:
            return None
        inner = node.named_children[0]
        index = inner.child_by_field_name("index")
        name = inner.child_by_field_name("name")
        if index is None or name is None or self.script.text_of(index) not in _ALL_OF_ARRAY:
            return None
        return self.arrays.get(self.script.text_of(name)) if node.named_child_count == 1 else None

    def _name(self, node: Node) -> str | None:
        """The variable of `$NAME`, `${NAME}` and of `${NAME:-…}`."""
        names = [child for child in node.named_children if child.type == "variable_name"]
        return self.script.text_of(names[0]) if names else None

    def _value(self, node: Node, depth: int) -> str:
        if depth > MOST_DEPTH:
            return NOT_KNOWN
        text = self.script.text_of(node)
        if node.type in ("word", "number", "variable_name", "file_descriptor"):
            return NOT_KNOWN if node.named_child_count else _plain(text)
        if node.type == "raw_string":
            return text[1:-1]
        if node.type == "string_content":
            return re.sub(r'\\([$`"\\\n])', lambda m: "" if m[1] == "\n" else m[1], text)
        if node.type == "string":
            return self._joined(node, depth)
        if node.type in ("concatenation", "command_name"):
            return self._joined(node, depth)
        if node.type in ("simple_expansion", "expansion"):
            return self._expanded(node, depth)
        return NOT_KNOWN

    def _joined(self, node: Node, depth: int) -> str:
        """The parts of a string or concatenation; what the grammar leaves out between them is kept."""
        parts, at = [], node.start_byte
        quoted = node.type == "string"
        end = node.end_byte - (1 if quoted else 0)
        at += 1 if quoted else 0
        for child in node.children:
            if child.type == '"':
                continue
            parts.append(self._between(at, child.start_byte))
            parts.append(self._value(child, depth + 1))
            at = child.end_byte
        parts.append(self._between(at, end))
        value = "".join(parts)
        self.budget.characters -= len(value)
        return value if len(value) <= MOST_VALUE and self.budget.characters > 0 else NOT_KNOWN

    def _between(self, start: int, end: int) -> str:
        return self.script.data[start:end].decode(errors="replace").replace("\\\n", "")

    def _expanded(self, node: Node, depth: int) -> str:
        name = self._name(node)
        if name is None:
            return NOT_KNOWN
        known = self.known.get(name)
        operators = [c.type for c in node.children if c.type not in ("${", "}", "$", "variable_name")]
        if not operators:
            return known.value if known else gap(name)
        if operators[0] in _WITH_VALUE:
            if known and known.value:
                return known.value
            return gap(name) if known is None else self._default(node, depth)
        return NOT_KNOWN

    def _default(self, node: Node, depth: int) -> str:
        """Of `${NAME:-default}` where the variable is known to be empty."""
        rest = [child for child in node.named_children if child.type != "variable_name"]
        return self._value(rest[0], depth + 1) if len(rest) == 1 else NOT_KNOWN


def _plain(text: str) -> str:
    if "\\" not in text:
        return text
    return re.sub(r"\\(.)", r"\1", text.replace("\\\n", ""), flags=re.DOTALL)


def _line_within(origin: Word, raw: str) -> int:
    """The line of `origin` in which a piece of it stands; the first if it is not found as it is."""
    for i, line in enumerate(origin.raw.split("\n")):
        if origin.line and raw in line:
            return origin.line + i
    return origin.line
