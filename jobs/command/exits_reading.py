"""From the parser's tree to statements (`exits_tree`). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tree_sitter import Node

from jobs.command.exits_chain import Chain, widened
from jobs.command.exits_tree import (
    Assignment,
    Block,
    Case,
    Define,
    Expression,
    Group,
    Heredoc,
    If,
    Item,
    Loop,
    Opaque,
    Part,
    Program,
    Simple,
    Source,
    Test,
    Word,
)
from jobs.command.shell import Script, parsed, walk

DEEPEST = 40  # statements within statements; what lies deeper may end in any way
SPLIT = {";", "\n", "&", "comment", ";;", ";&", ";;&", "heredoc_body", "heredoc_end"}
CHAINS = ("list", "pipeline", "negated_command")
LITERAL = {"word", "number", "raw_string", "string", "concatenation", "ansi_c_string", "extglob_pattern"}
EXPANDED = {
    "simple_expansion",
    "expansion",
    "command_substitution",
    "arithmetic_expansion",
    "brace_expression",
}


def read(text: str, source: Source | None = None) -> Program | None:
    """The statements of a text; None if it is longer than what is analysed.

    `source` tells where the text stands, if it is not a command of its own.
    """
    script = parsed(text)
    if script is None:
        return None
    found = [node for node in walk(script.root) if node.type == "heredoc_redirect"]
    source = source or Source(script.data)
    if found:
        plain, heredocs = _without_heredocs(script, found)
        source = replace(source, heredocs=heredocs)
        script = parsed(plain) or script
    block = _Reader(source).block(script.root.children, 0)
    return Program(source, block, _first_error(script) if script.broken else None)


def _without_heredocs(script: Script, found: Sequence[Node]) -> tuple[str, tuple[Heredoc, ...]]:
    """The text with blanks in the place of here-documents, each byte where it was.

    The parser takes what follows `<<EOF` on its line for a part of the document, and may fail on it.
    """
    data = bytearray(script.data)
    heredocs = []
    for node in found:
        parts = {child.type: child for child in node.children}
        start, body = parts.get("heredoc_start"), parts.get("heredoc_body")
        if start is None:
            continue
        _blank(data, node.start_byte, start.end_byte)
        if body is not None:
            end = parts.get("heredoc_end")
            _blank(data, body.start_byte, end.end_byte if end else body.end_byte)
            heredocs.append(Heredoc(node.start_byte, body.start_byte, body.end_byte))
    return data.decode(errors="replace"), tuple(heredocs)


def _blank(data: bytearray, start: int, end: int) -> None:
    data[start:end] = bytes(byte if byte == 10 else 32 for byte in data[start:end])


def _first_error(script: Script) -> int:
    """Where the first piece begins that is no bash; of one that is not closed, where it was opened."""
    stack = [(script.root, script.root.start_byte)]  # with where the parent begins: `parent` itself is slow
    while stack:
        node, opened = stack.pop()
        if node.is_missing or node.is_error:
            return opened if node.is_missing else node.start_byte
        if node.has_error:
            stack += [(child, node.start_byte) for child in reversed(node.children)]
    return script.root.start_byte


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source

    def span(self, node: Node) -> tuple[Source, int, int]:
        return self.source, node.start_byte, node.end_byte

    def block(self, nodes: Iterable[Node], depth: int) -> Block:
        items: list[Item] = []
        for node in nodes:
            if node.type == "&" and items:
                last = items[-1]
                items[-1] = Item(last.source, last.start, node.end_byte, last.body, True)
            elif node.type not in SPLIT and node.is_named:
                body = self.statement(node, depth + 1)
                items.append(Item(body.source, body.start, body.end, body, False))
        return tuple(items)

    def statement(self, node: Node, depth: int) -> Part:
        make = STATEMENTS.get(node.type)
        if make is None or depth > DEEPEST:
            return Opaque(*self.span(node))
        return make(self, node, depth)

    def command(self, node: Node, depth: int) -> Part:
        words: list[Word] = []
        assignments: list[Assignment] = []
        redirects: list[Word] = []
        for child in node.children:
            if child.type == "variable_assignment":
                assignments.append(self.assignment(child, depth))
            elif child.type == "file_redirect":
                redirects += self.redirect(child, depth)
            elif child.type == "command_name":
                words += [self.word(inner, depth) for inner in child.children[:1]]
            elif child.type not in {"herestring_redirect", "comment"}:
                words.append(self.word(child, depth))
        if [word.text for word in words[:2] if word.text in {"{", "}"}]:
            return Opaque(*self.span(node))  # `time { …; }`: the parser takes { for a word
        return Simple(*self.span(node), tuple(words), tuple(assignments), tuple(redirects))

    def redirect(self, node: Node, depth: int) -> list[Word]:
        return [self.word(child, depth) for child in node.children_by_field_name("destination")]

    def redirected(self, node: Node, depth: int) -> Part:
        if _body_type(node) in CHAINS:
            return self.chain(node, depth)
        body = node.child_by_field_name("body")
        redirects = [
            word
            for child in node.children_by_field_name("redirect")
            if child.type == "file_redirect"
            for word in self.redirect(child, depth)
        ]
        if body is None:
            return Simple(*self.span(node), (), (), tuple(redirects))
        return widened(self.statement(body, depth), node.end_byte, tuple(redirects))

    def declaration(self, node: Node, depth: int) -> Part:
        assignments = [self.assignment(n, depth) for n in node.children if n.type == "variable_assignment"]
        words = [self.word(n, depth) for n in node.children if n.type != "variable_assignment"]
        return Simple(*self.span(node), tuple(words), tuple(assignments))

    def assigned(self, node: Node, depth: int) -> Part:
        nodes = [node] if node.type == "variable_assignment" else node.named_children
        return Simple(*self.span(node), (), tuple(self.assignment(n, depth) for n in nodes))

    def assignment(self, node: Node, depth: int) -> Assignment:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        values = [] if value is None else value.named_children if value.type == "array" else [value]
        counted = (
            value.named_children[:1] if value is not None and value.type == "arithmetic_expansion" else []
        )
        return Assignment(
            *self.span(node),
            self.source.piece(name.start_byte, name.end_byte) if name else "",
            any(child.type == "+=" for child in node.children),
            tuple(self.word(child, depth) for child in values),
            value is not None and value.type == "array",
            self.expression(counted[0], depth) if counted else None,
        )

    def word(self, node: Node, depth: int) -> Word:
        runs: list[Block] = []
        feeds: list[Block] = []
        if node.child_count and node.type not in {"raw_string", "word"}:
            self.inner(node, depth, runs, feeds)
        return Word(*self.span(node), _literal(self.source, node), tuple(runs), tuple(feeds))

    def inner(self, node: Node, depth: int, runs: list[Block], feeds: list[Block]) -> None:
        if depth > DEEPEST:
            return
        if node.type in {"command_substitution", "process_substitution"}:
            kept = runs if node.type == "command_substitution" else feeds
            kept.append(self.block(node.children, depth + 1))
            return
        for child in node.named_children:
            self.inner(child, depth + 1, runs, feeds)

    def chain(self, node: Node, depth: int) -> Part:
        """Pipes, && and ||, with `!` and redirects, by what binds closer in bash.

        The parser lets a redirect bind less: of `a && b 2>&1 | c` it makes `{ a && b; } 2>&1 | c`. Its lists
        lean to the left, as deep as they are long: so they are read without recursion.
        """
        chain = Chain()
        stack = [node]
        while stack:
            current = stack.pop()
            if current.type in CHAINS:
                stack += [child for child in reversed(current.children) if child.type != "comment"]
            elif current.type == "redirected_statement" and _body_type(current) in CHAINS:
                stack += reversed([child for child in current.named_children if child.type != "comment"])
            elif current.type == "file_redirect":
                chain.redirect(self.redirect(current, depth + 1), current.end_byte)
            elif current.type == "!":
                chain.negate(current.start_byte)
            elif not current.is_named:
                chain.operator(current.type)
            elif not current.type.endswith("_redirect"):
                chain.statement(self.statement(current, depth + 1))
        return chain.whole() or Opaque(*self.span(node))

    def compound(self, node: Node, depth: int) -> Part:
        if node.children[0].type == "((":
            inner = node.named_children
            counted = self.expression(inner[0], depth) if len(inner) == 1 else None
            return Test(*self.span(node), counted, True)
        return Group(*self.span(node), self.block(node.children[1:-1], depth))

    def subshell(self, node: Node, depth: int) -> Part:
        if self.source.data[node.start_byte : node.start_byte + 2] == b"((":
            return Opaque(*self.span(node))  # `! (( x ))`: the parser takes it for shells within shells
        return Group(*self.span(node), self.block(node.children[1:-1], depth), True)

    def test(self, node: Node, depth: int) -> Part:
        inner = node.named_children
        return Test(*self.span(node), self.expression(inner[0], depth) if len(inner) == 1 else None)

    def expression(self, node: Node, depth: int) -> Expression:
        inner = node.named_children
        sides = [child for child in inner if child.type != "test_operator"]
        operator = node.child_by_field_name("operator")
        if depth > DEEPEST:
            return Expression(*self.span(node), "?")
        if node.type == "parenthesized_expression" and len(inner) == 1:
            return self.expression(inner[0], depth + 1)
        if operator is not None and node.type.endswith("_expression"):
            side = tuple(self.expression(child, depth + 1) for child in sides)
            prefix = "pre" if node.type == "unary_expression" and operator.type in {"++", "--"} else ""
            return Expression(*self.span(node), prefix + self.source.piece(*_bytes(operator)), side)
        if node.type.endswith("_expression") or node.type == "variable_assignment":
            return Expression(*self.span(node), "?")
        return Expression(*self.span(node), "", (), self.word(node, depth))

    def choice(self, node: Node, depth: int) -> Part:
        arms = [self.arm(node, depth)]
        otherwise = None
        for child in node.children:
            if child.type == "elif_clause":
                arms.append(self.arm(child, depth))
            elif child.type == "else_clause":
                otherwise = self.block(child.children[1:], depth)
        return If(*self.span(node), tuple(arms), otherwise)

    def arm(self, node: Node, depth: int) -> tuple[Block, Block]:
        children = list(node.children[1:])
        then = next((i for i, child in enumerate(children) if child.type == "then"), len(children))
        body = [c for c in children[then + 1 :] if c.type not in {"elif_clause", "else_clause"}]
        return self.block(children[:then], depth), self.block(body, depth)

    def repeated(self, node: Node, depth: int) -> Part:
        condition = self.block(node.children_by_field_name("condition"), depth)
        return Loop(*self.span(node), node.children[0].type, self.loop_body(node, depth), condition)

    def each(self, node: Node, depth: int) -> Part:
        variable = node.child_by_field_name("variable")
        words = [self.word(child, depth) for child in node.children_by_field_name("value")]
        name = self.source.piece(*_bytes(variable)) if variable else ""
        written = tuple(words) if words and node.type == "for_statement" else None
        return Loop(*self.span(node), "for", self.loop_body(node, depth), (), name, written)

    def loop_body(self, node: Node, depth: int) -> Block:
        body = node.child_by_field_name("body")
        return self.block(body.children, depth) if body is not None else ()

    def case(self, node: Node, depth: int) -> Part:
        subject = node.child_by_field_name("value")
        arms = []
        for child in node.children:
            if child.type == "case_item":
                close = next((i for i, c in enumerate(child.children) if c.type == ")"), 0)
                patterns = tuple(self.source.piece(*_bytes(v)) for v in child.children_by_field_name("value"))
                arms.append((patterns, self.block(child.children[close + 1 :], depth)))
        if subject is None:
            return Opaque(*self.span(node))
        return Case(*self.span(node), self.word(subject, depth), tuple(arms))

    def define(self, node: Node, depth: int) -> Part:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return Opaque(*self.span(node))
        return Define(*self.span(node), self.source.piece(*_bytes(name)), self.statement(body, depth + 1))


STATEMENTS = {
    "command": _Reader.command,
    "redirected_statement": _Reader.redirected,
    "declaration_command": _Reader.declaration,
    "unset_command": _Reader.declaration,
    "variable_assignment": _Reader.assigned,
    "variable_assignments": _Reader.assigned,
    **dict.fromkeys(CHAINS, _Reader.chain),
    "compound_statement": _Reader.compound,
    "subshell": _Reader.subshell,
    "test_command": _Reader.test,
    "if_statement": _Reader.choice,
    "while_statement": _Reader.repeated,
    "for_statement": _Reader.each,
    "c_style_for_statement": _Reader.each,
    "case_statement": _Reader.case,
    "function_definition": _Reader.define,
}


def _bytes(node: Node) -> tuple[int, int]:
    return node.start_byte, node.end_byte


def _body_type(node: Node) -> str:
    body = node.child_by_field_name("body")
    return body.type if body is not None else ""


def _literal(source: Source, node: Node) -> str | None:
    """What the word stands for after bash took the quotes away; None if something in it is expanded."""
    if node.type == "raw_string":
        return source.piece(node.start_byte + 1, node.end_byte - 1)
    if node.type == "concatenation":
        parts = [_literal(source, child) for child in node.children]
        return None if None in parts else "".join(part for part in parts if part is not None)
    text = source.piece(*_bytes(node))
    if node.type == "string":
        if any(child.type in EXPANDED for child in node.children):
            return None
        return re.sub(r'\\([$`"\\\n])', lambda m: m[1].strip("\n"), text[1:-1])
    if node.type not in LITERAL and node.is_named:
        return None
    return re.sub(r"\\(.|\n)", lambda m: m[1].strip("\n"), text)
