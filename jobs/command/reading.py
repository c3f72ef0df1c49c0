"""The simple commands and assignments of a shell text in their order, with the values that are certain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from tree_sitter import Node

from jobs.command.shell import Script, parsed, walk
from jobs.command.simple import Assignment, Command, Redirect, base_name, names, program_at
from jobs.command.words import GAP, NOT_KNOWN, Budget, Values, Word

MOST_NESTED_TEXTS = 2  # `bash -c "…"` within each other
SHELLS = ("bash", "sh", "dash", "zsh")
_SETS_NAMES = names("read mapfile readarray getopts unset let printf")
_KEEPS_VALUES = ("activate", "conda.sh", ".bashrc", ".profile", "setvars.sh")
_MAY_NOT_RUN = names(
    "if_statement elif_clause else_clause case_statement case_item while_statement for_statement "
    "c_style_for_statement function_definition"
)
_OWN_SHELL = names("subshell command_substitution process_substitution pipeline")  # what is set there is gone
_REPEATS = names("while_statement for_statement c_style_for_statement function_definition")
_ASKS = names("test_command negated_command")
_ASKING_PROGRAMS = names("test grep which command type pgrep cmp diff")


@dataclass(frozen=True, slots=True)
class Reading:
    """What was found, in the order of the text. `others` are words that belong to no command: of loops,
    and of tests. `broken`: some of the text is no bash, so what is missing in it proves nothing."""

    commands: tuple[Command, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    others: tuple[Word, ...] = ()
    broken: bool = False


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where a node stands: whether it `runs` in any case, and what it sets `lasts`; what it is redirected
    to; its pipeline."""

    runs: bool = True
    lasts: bool = True
    prefix: bool = False
    pipeline: int = 0
    redirects: tuple[Redirect, ...] = ()


@dataclass(slots=True)
class _Found:
    commands: list[Command] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    others: list[Word] = field(default_factory=list)
    pipelines: int = 0


@lru_cache(maxsize=16)
def reading(text: str, given: tuple[tuple[str, str], ...]) -> Reading | None:
    """What a command says, where `given` are variables it finds set; None if it is too long to analyse."""
    script = None if GAP in text else parsed(text)
    if script is None:
        return None
    found = _Found()
    known = {name: Word(value, "", 0) for name, value in given if GAP not in value}
    _Reader(Values(script, known, Budget()), found, 0).read(script)
    return Reading(tuple(found.commands), tuple(found.assignments), tuple(found.others), script.broken)


class _Reader:
    def __init__(self, values: Values, found: _Found, depth: int) -> None:
        self.values = values
        self.found = found
        self.depth = depth
        self.repeating_until = 0  # the byte where the outermost loop or function ends

    def read(self, script: Script) -> None:
        stack = [(script.root, _Scope())]
        while stack:
            node, scope = stack.pop()
            if node.type in _REPEATS and node.start_byte >= self.repeating_until:
                self.repeating_until = node.end_byte
                self._forget_all_set_in(node)
            if node.is_named:
                self._take(node, scope)
            if node.child_count and node.type != "heredoc_body":
                stack.extend(reversed(list(self._below(node, scope))))

    def _take(self, node: Node, scope: _Scope) -> None:
        if node.type == "command":
            self._command(node, scope)
        elif node.type == "variable_assignment":
            self._assignment(node, scope)
        elif node.type == "for_statement":
            for value in node.children_by_field_name("value"):
                self.found.others += self.values.words(value)
        elif node.type == "test_command":
            self.found.others += (self.values.word(n) for n in walk(node) if _is_operand(n))
        elif node.type == "unset_command":
            for name in node.named_children:
                self.values.forget(self.values.script.text_of(name))

    def _below(self, node: Node, scope: _Scope) -> Iterator[tuple[Node, _Scope]]:
        """The children, each with where it stands; redirections go to the last command."""
        runs = scope.runs and node.type not in _MAY_NOT_RUN
        lasts = scope.lasts and runs and node.type not in _OWN_SHELL
        same = (runs, lasts, False) == (scope.runs, scope.lasts, scope.prefix)  # as for most nodes
        inner = scope if same else replace(scope, runs=runs, lasts=lasts, prefix=False)
        if node.type == "pipeline":
            self.found.pipelines += 1
            inner = replace(inner, pipeline=self.found.pipelines)
        elif node.type == "command":
            inner = replace(inner, prefix=True, redirects=())
        elif node.type == "redirected_statement":
            inner = replace(inner, redirects=tuple(self._redirects(node)) + scope.redirects)
        last = max((i for i, c in enumerate(node.children) if c.is_named), default=-1)
        for i, child in enumerate(node.children):
            mine = inner
            if node.type in ("pipeline", "list") and i != last:
                mine = replace(mine, redirects=())
            if node.type == "list" and i == last and self._depends(node):
                mine = replace(mine, runs=False, lasts=False)
            yield child, mine

    def _depends(self, node: Node) -> bool:
        """Whether the right side of `a && b` or `a || b` may well not run."""
        left = node.children[0]
        while left.type == "list":
            left = left.children[-1]
        asks = left.type in _ASKS or (
            left.type == "command"
            and left.children
            and self.values.script.text_of(left.children[0]) in _ASKING_PROGRAMS
        )
        return bool(asks) or any(child.type == "||" for child in node.children)

    def _redirects(self, node: Node) -> Iterator[Redirect]:
        for child in node.children:
            if child.type != "file_redirect":
                continue
            target = child.child_by_field_name("destination")
            operator = next((c.type for c in child.children if not c.is_named), "")
            if target is not None and target.type not in ("number", "process_substitution"):
                yield Redirect(operator, self.values.word(target))

    def _assignment(self, node: Node, scope: _Scope) -> None:
        name_node, value_node = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name_node is None or scope.prefix or name_node.type != "variable_name":
            return
        assigned = self._assigned(node, name_node, value_node, scope)
        self.found.assignments.append(assigned)
        appended = any(child.type == "+=" for child in node.children)
        is_array = value_node is not None and value_node.type == "array"
        if not scope.lasts or node.start_byte < self.repeating_until or (appended and is_array):
            self.values.forget(assigned.name)
        elif is_array and value_node is not None:
            self.values.forget(assigned.name)
            items = [w for child in value_node.named_children for w in self.values.words(child)]
            self.values.arrays[assigned.name] = tuple(items)
        elif appended:
            old = self.values.known.get(assigned.name)
            value = old.value + assigned.value.value if old else NOT_KNOWN
            self.values.known[assigned.name] = assigned.value.part(value)
        else:
            self.values.known[assigned.name] = assigned.value

    def _assigned(self, node: Node, name: Node, value: Node | None, scope: _Scope) -> Assignment:
        line = self.values.line(node)
        word = self.values.word(value) if value is not None else Word("", "", line)
        if value is not None and value.type == "array":
            self.found.others += (w for child in value.named_children for w in self.values.words(child))
        return Assignment(self.values.script.text_of(name), word, line, scope.lasts, scope.prefix)

    def _command(self, node: Node, scope: _Scope) -> None:
        words: list[Word] = []
        assigned: list[Assignment] = []
        redirects = list(scope.redirects)
        for child in node.children:
            if child.type == "variable_assignment":
                name = child.child_by_field_name("name")
                if name is not None:
                    value = child.child_by_field_name("value")
                    assigned.append(self._assigned(child, name, value, replace(scope, prefix=True)))
            elif child.type == "command_name" and child.named_children:
                words += self.values.words(child.named_children[0])
            elif child.is_named and not child.type.endswith("_redirect"):
                words += self.values.words(child)
        redirects += self._redirects(node)
        if words:
            self._add(words, assigned, redirects, scope)

    def _add(
        self, words: list[Word], assigned: list[Assignment], redirects: list[Redirect], scope: _Scope
    ) -> None:
        at = program_at(words)
        command = Command(
            program=base_name(words[at]),
            name=words[at],
            words=tuple(words[at + 1 :]),
            wrapping=tuple(words[:at]),
            assigned=tuple(assigned),
            redirects=tuple(redirects),
            pipeline=scope.pipeline,
            certain=scope.runs,
        )
        self.found.commands.append(command)
        self._effects(command)
        self._nested_text(command)

    def _effects(self, command: Command) -> None:
        """What a command does to the variables known so far."""
        if command.program in _SETS_NAMES:
            for word in command.words:
                self.values.forget(word.value)
        elif command.program in ("source", "."):
            name = base_name(command.words[0]) if command.words else ""
            if name not in _KEEPS_VALUES:
                self.values.forget_all()
        elif command.program == "eval":
            self.values.forget_all()

    def _forget_all_set_in(self, node: Node) -> None:
        """What a loop or function sets is not known in it, since it may run more than once, or later."""
        for inner in walk(node):
            if inner.type == "variable_name" and inner.parent is not None:
                parent = inner.parent.type
                if parent in ("variable_assignment", "for_statement", "declaration_command"):
                    self.values.forget(self.values.script.text_of(inner))

    def _nested_text(self, command: Command) -> None:
        """`bash -c "…"` holds commands of its own, with the same variables if they are exported."""
        if command.program not in SHELLS or len(command.words) < 2 or self.depth >= MOST_NESTED_TEXTS:
            return
        option, text = command.words[0].value, command.words[1]
        if not (option.startswith("-") and not option.startswith("--") and option.endswith("c")):
            return
        script = None if NOT_KNOWN in text.value else parsed(text.shown)
        if script is not None:
            values = Values(script, self.values.known, self.values.budget, max(text.line - 1, 0))
            _Reader(values, self.found, self.depth + 1).read(script)


def _is_operand(node: Node) -> bool:
    """A whole word of a test, not a piece of one."""
    kinds = ("word", "string", "raw_string", "concatenation")
    return node.type in kinds and (node.parent is None or node.parent.type not in kinds)
