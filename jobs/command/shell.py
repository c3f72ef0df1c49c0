"""A start command as a tree, with positions in lines and characters. Pure; nothing of it is run.

The parser counts in bytes, and broken text can cost it the square of its length: so at most MOST_ANALYSED
bytes are looked at, and trees of texts seen lately are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

MOST_ANALYSED = 16 * 2**10  # bytes
MOST_OPEN = 256  # brackets that are never closed
MOST_SIGNS = 1024  # of each of these
_COSTLY_SIGNS = (b"|", b"@", b"<", b">")
_BASH = Language(tree_sitter_bash.language())


@dataclass(frozen=True, slots=True)
class Script:
    """A parsed text. `root` is the tree of the whole; `broken` tells that some of it is no bash."""

    text: str
    data: bytes
    root: Node

    @property
    def broken(self) -> bool:
        return self.root.has_error

    def text_of(self, node: Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode(errors="replace")

    def line_of(self, node: Node) -> int:
        """The line in which the node begins, from 1."""
        return node.start_point.row + 1

    def last_line_of(self, node: Node) -> int:
        return node.end_point.row + 1

    def lines(self, first: int, last: int) -> str:
        """The lines from `first` to `last`, counted from 1, without the last line end."""
        return "\n".join(self.text.split("\n")[first - 1 : last])


@lru_cache(maxsize=64)
def parsed(text: str) -> Script | None:
    """The tree of a text; None if it is more than what is analysed."""
    data = text.encode(errors="surrogatepass")
    if len(data) > MOST_ANALYSED or _costly(data):
        return None
    return Script(text, data, Parser(_BASH).parse(data).root_node)


def _costly(data: bytes) -> bool:
    """Whether the text is of a kind that costs the parser the square of its length."""
    unmatched = abs(data.count(b"(") - data.count(b")"))
    many = any(data.count(sign) > MOST_SIGNS for sign in _COSTLY_SIGNS)
    return many or unmatched > MOST_OPEN or b"\0" in data


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, in the order of the text; without recursion, since nesting has no bound."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.children))
