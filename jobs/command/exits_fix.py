"""Small changes that would keep a failure from being hidden, the most fitting first. Pure.

Each is only a proposal: `exits` tries it, and offers it if the command then tells the failure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from jobs.command.exits_edit import Edit, after, before, has_heredoc, indent_of, instead
from jobs.command.exits_state import Drop
from jobs.command.exits_tree import AndOr, Block, Group, If, Item, Loop, Not, Part, Simple, Source

Change = Sequence[Edit]
_TALK = {"echo", "printf", "date", ":", "true", "exit"}
WAIT_FOR_EACH = 'for pid in "${pids[@]}"; do wait "$pid" || exit $?; done'
_WAITS_FOREVER = re.compile(rb"tail\s+(-\S+\s+)*-\w*[fF]|sleep\s+inf")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a failure gets lost: the program that fails, the statements of that script, and what of the
    command runs in the background or does its work."""

    drop: Drop
    work: Part
    block: Block
    backgrounds: Sequence[Item]
    works: Collection[Part]

    @property
    def source(self) -> Source:
        return self.drop.part.source

    @property
    def kept(self) -> str:
        """A name for an exit code that the script does not use yet."""
        return "train_rc" if re.search(rb"\brc\b", self.source.data) else "rc"


def changes(place: Place) -> Iterator[Change]:
    """Proposals for a place, best first."""
    make = CHANGES.get(place.drop.code)
    if make is not None:
        yield from make(place)


def _options(place: Place, letters: str, named: str) -> Iterator[Change]:
    """`set` with the options as the first statement, or in the one that is there."""
    if not place.block:
        return
    first = place.block[0].body
    words = [word.literal for word in first.words] if isinstance(first, Simple) else []
    given = words[1] if len(words) == 2 and words[0] == "set" and words[1] else ""
    if re.fullmatch(r"-[a-zA-Z]*[a-np-zA-Z]", given):
        more = "".join(letter for letter in letters if letter not in given)
        yield [instead(first, f"set {given}{more}{'o ' + named if named else ''}")]
    elif words == ["set", "-o", "pipefail"] and letters:
        yield [instead(first, f"set -{letters}o pipefail")]
    options = f"set -{letters}{'o ' + named if named else ''}"
    yield _line_before(place.block[0], options)


def _line_before(part: Part, text: str) -> Change:
    indent = indent_of(part.source, part.start)
    alone = indent is not None and not part.source.quote
    return [before(part, f"{text}\n{indent}" if alone else f"{text}; ")]


def _next_line(part: Part, text: str) -> Edit | None:
    """A statement behind another one; None if a here-document stands in the way."""
    if has_heredoc(part):
        return None
    source = part.source
    start = source.data.rfind(b"\n", 0, part.start) + 1
    indent = indent_of(source, part.start)
    if indent is None:
        indent = re.match(r"[ \t]*", source.piece(start, part.start))[0]  # type: ignore[index]
    rest = source.data[part.end :].partition(b"\n")[0].strip()
    alone = not rest and not source.quote
    return after(part, f"\n{indent}{text}" if alone else f"; {text}")


def _whole(edits: Sequence[Edit | None]) -> Iterator[Change]:
    if None not in edits:
        yield [edit for edit in edits if edit is not None]


def _item_of(place: Place, part: Part) -> Item | None:
    return next((item for item in place.block if item.start <= part.start and part.end <= item.end), None)


def _ends_with(place: Place, text: str) -> Edit | None:
    """The script's last statement: in the place of an `exit 0` that is there."""
    last = place.block[-1]
    if isinstance(last.body, Simple) and [word.literal for word in last.body.words] == ["exit", "0"]:
        return instead(last.body, text)
    return after(last, f" {text}") if last.background else _next_line(last, text)


def of_pipe(place: Place) -> Iterator[Change]:
    yield from _options(place, "", "pipefail")
    yield from _options(place, "e", "pipefail")
    yield _line_before(place.drop.part, "set -o pipefail")


def of_later(place: Place) -> Iterator[Change]:
    talks = _only_talk(place)
    if talks:
        yield from _options(place, "e", "")
    yield from _kept(place)
    yield from _exits_behind(place.drop.part)
    if not talks:
        yield from _options(place, "e", "")
    yield from _options(place, "e", "pipefail")


def _only_talk(place: Place) -> bool:
    """Whether all that follows is words, or further work: then it need not run after a failure."""
    item = _item_of(place, place.work)
    later = [] if item is None else [i.body for i in place.block if i.start > item.start]
    return all(
        isinstance(body, Simple) and (body in place.works or (body.words and body.words[0].literal in _TALK))
        for body in later
    )


def _kept(place: Place) -> Iterator[Change]:
    """Notes the exit code behind the statement, and ends with it."""
    item = _item_of(place, place.work)
    if item is None or item.background or _WAITS_FOREVER.search(place.source.data, item.end):
        return
    noted = _noted(place, item)
    if "$?" in _behind(place, item) and not noted:
        return  # which would be that of the note then
    if noted:
        yield from _whole([_ends_with(place, f'exit "${noted}"')])
        return
    name = place.kept
    yield from _whole([_next_line(item, f"{name}=$?"), _ends_with(place, f'exit "${name}"')])
    yield from _whole([_next_line(item, f"{name}=$?"), _ends_with(place, f"exit ${name}")])


def _behind(place: Place, item: Item) -> str:
    return next((later.text for later in place.block if later.start > item.start), "")


def _noted(place: Place, item: Item) -> str:
    """The variable in which the next statement keeps the exit code already."""
    later = [i.body for i in place.block if i.start > item.start][:1]
    if later and isinstance(later[0], Simple) and not later[0].words and later[0].assignments:
        given = later[0].assignments[0]
        return given.name if [word.text.strip('"') for word in given.values] == ["$?"] else ""
    return ""


def _exits_behind(part: Part, way: str = "exit $?") -> Iterator[Change]:
    tries_again = re.search(r"&& (break|continue)\b", part.text)
    if not has_heredoc(part) and not tries_again:
        yield [after(part, f" || {way}")]


def of_ignored(place: Place) -> Iterator[Change]:
    right = place.drop.chosen
    if not isinstance(place.drop.part, AndOr) or right is None or has_heredoc(right):
        return
    if _WAITS_FOREVER.search(right.text.encode()):
        return  # what never ends cannot end with a code
    name, text = place.kept, right.text
    if isinstance(right, Simple) and [word.literal for word in right.words] in (
        ["true"],
        [":"],
        ["exit", "0"],
    ):
        yield [instead(right, "exit $?")]
    elif isinstance(right, Simple) and right.assignments and not right.words:
        yield from _whole([_ends_with(place, f'exit "${right.assignments[0].name}"')])
    elif isinstance(right, Group) and not right.apart:
        inner = text[1:-1].rstrip()
        end = "" if inner.endswith((";", "&", "\n")) else ";"
        yield [instead(right, f'{{ {name}=$?;{inner}{end} exit "${name}"; }}')]
    elif isinstance(right, Simple):
        yield [instead(right, f'{{ {name}=$?; {text}; exit "${name}"; }}')]


def of_background(place: Place) -> Iterator[Change]:
    item = place.drop.part
    around = _item_of(place, item)
    if around is None or _WAITS_FOREVER.search(place.source.data, item.end) or has_heredoc(item):
        return
    if item is place.block[-1]:
        sign = place.source.data.rfind(b"&", item.start, item.end)
        start = sign - 1 if place.source.data[sign - 1 : sign] == b" " else sign
        yield [Edit(place.source, start, item.end, "")]
    if item is around:
        yield from _whole([_ends_with(place, "wait $!")])
        yield from _whole([_noted_process(item, "pid=$!"), _ends_with(place, 'wait "$pid"')])
    elif isinstance(around.body, Loop):
        yield from _whole([_noted_process(item, "pids+=($!)"), _ends_with(place, WAIT_FOR_EACH)])


def _noted_process(item: Part, text: str) -> Edit:
    rest = item.source.data[item.end :].partition(b"\n")[0].strip()
    return after(item, f" {text};" if rest and not rest.startswith(b"#") else f" {text}")


def of_wait(place: Place) -> Iterator[Change]:
    """`drop.part` is the `wait`; if it names processes, it cannot be mended by a small change."""
    waits = place.drop.part
    if not isinstance(waits, Simple) or len(waits.words) > 1:
        return
    started = [item for item in place.backgrounds if item.source is waits.source and item.end <= waits.start]
    if len(started) == 1:
        yield [instead(waits, "wait $!")]
    every = [_noted_process(item, "pids+=($!)") for item in dict.fromkeys(started)]
    yield [*every, instead(waits, WAIT_FOR_EACH)]


def of_trap(place: Place) -> Iterator[Change]:
    """Without a number, `exit` in a trap on EXIT keeps the exit code."""
    leaves = place.drop.chosen
    if leaves is not None and leaves.source.at is not None:
        yield [instead(leaves, "exit")]
        yield [instead(leaves, "exit 1")]
    text = place.drop.part.text
    if re.search(r'trap "exit \$\?" ', text):
        yield [instead(place.drop.part, text.replace('"exit $?"', "exit"))]


def of_condition(place: Place) -> Iterator[Change]:
    part, block = place.drop.part, place.drop.block
    if not isinstance(part, If):
        return
    if block:
        yield from _whole([_next_line(block[-1], "exit 1")])
    elif part.otherwise is None:
        fi = part.source.data.rfind(b"fi", part.start, part.end)
        indent = indent_of(part.source, fi)
        text = "else exit 1; " if indent is None else f"else\n{indent}  exit 1\n{indent}"
        yield [Edit(part.source, fi, fi, text)]


def of_negated(place: Place) -> Iterator[Change]:
    part = place.drop.part
    if isinstance(part, Not):
        yield [Edit(part.source, part.start, part.body.start, "")]


def of_unseen(place: Place) -> Iterator[Change]:
    yield from _exits_behind(place.drop.part)
    yield from _exits_behind(place.drop.part, "return $?")


def of_masked(place: Place) -> Iterator[Change]:
    part = place.drop.part
    if (
        not isinstance(part, Simple)
        or len(part.words) != 1
        or len(part.assignments) != 1
        or has_heredoc(part)
    ):
        return
    word, given = part.words[0].text, part.assignments[0]
    indent = indent_of(part.source, part.start)
    between = f"\n{indent}" if indent is not None and not part.source.quote else "; "
    first, then = f"{given.text} || exit $?", f"{word} {given.name}"
    yield [instead(part, between.join([then, first] if word == "local" else [first, then]))]


def of_zero(place: Place) -> Iterator[Change]:
    leaves = place.drop.chosen
    if isinstance(leaves, Simple):
        yield [instead(leaves, f"{leaves.words[0].text} $?")]


def of_multiple(place: Place) -> Iterator[Change]:
    part = place.drop.part
    if isinstance(part, Simple):
        yield [instead(part, f"{part.words[0].text} 1")]


def of_loop(place: Place) -> Iterator[Change]:
    yield from _exits_behind(place.drop.part)


def of_folder(place: Place) -> Iterator[Change]:
    yield from _exits_behind(place.work, "exit 1")


CHANGES: dict[str, Callable[[Place], Iterator[Change]]] = {
    "exit_pipe": of_pipe,
    "exit_later_command": of_later,
    "exit_ignored": of_ignored,
    "exit_background": of_background,
    "exit_wait": of_wait,
    "exit_trap": of_trap,
    "exit_condition": of_condition,
    "exit_negated": of_negated,
    "exit_and_list": of_unseen,
    "exit_errexit_ignored": of_unseen,
    "exit_masked": of_masked,
    "exit_zero": of_zero,
    "exit_multiple": of_multiple,
    "exit_loop": of_loop,
    "exit_cd": of_folder,
}
