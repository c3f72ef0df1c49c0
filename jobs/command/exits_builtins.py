"""What the shell's own commands do when a start command is gone through. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jobs.command.exits_programs import Kind, called
from jobs.command.exits_simple import DEEPEST_CALL, Builtin, Commands, Leaves
from jobs.command.exits_state import (
    FAILS,
    FINE,
    NAMED,
    OPEN,
    Process,
    State,
    Status,
    Trap,
    Value,
    items_of,
    number_of,
    text_of,
)
from jobs.command.exits_tests import tells, test_words
from jobs.command.exits_tree import Program, Simple, Word
from jobs.command.words import NOT_KNOWN

DECLARES = {"export", "declare", "typeset", "local", "readonly"}
_THERE = r"\.\.?|-|~|/|/tmp|/root|/workspace|\$\{?(?:HOME|PWD|OLDPWD|TMPDIR)\}?"
THERE = re.compile(rf"""["']?(?:{_THERE})/?["']?$""")


def _texts(words: Sequence[Word], state: State) -> list[str]:
    return [text_of(state.value_of(word)) for word in words]


def set_options(run: Commands, part: Simple, words: Sequence[Word], state: State) -> Status:
    state.set_options(_texts(words, state))
    return FINE


def set_shopt(run: Commands, part: Simple, words: Sequence[Word], state: State) -> Status:
    texts = _texts(words, state)
    letters = "".join(text[1:] for text in texts if text.startswith("-"))
    for text in texts:
        if text in NAMED and ("o" in letters or text == "inherit_errexit") and set(letters) & {"s", "u"}:
            setattr(state, text, "s" in letters)
    return FINE


def set_trap(run: Commands, part: Simple, words: Sequence[Word], state: State) -> Status:
    given = [word for word in words if word.text != "--"]
    signals = {{"0": "EXIT", "SIGEXIT": "EXIT"}.get(text, text) for text in _texts(given[1:], state)}
    for signal in signals & {"EXIT", "ERR"}:
        program = _action(run, given[0], state)
        state.traps.pop(signal, None)
        if program is not None:
            state.traps[signal] = Trap(program.block, part)
    return FINE


def _action(run: Commands, word: Word, state: State) -> Program | None:
    """What a trap runs. Between double quotes `$?` is that of now, not that of the end."""
    if word.literal in {"-", ""}:
        return None
    if word.literal is not None:
        return run.inner.of_word(word)
    now = "0" if state.status.zero else "1"
    text = re.sub(r"(?<!\\)\$\?", now, word.text.strip('"'))
    return run.inner.of_text(word, re.sub(r"\\([$\"`\\])", r"\1", text))


def leave(kind: str) -> Builtin:
    def leaves(run: Commands, part: Simple, words: Sequence[Word], state: State) -> Status:
        if kind == "exit":
            run.last_exit = part
        elif not state.calls:
            return FAILS  # bash goes on
        now = run.left if run.left is not None and kind == "exit" else state.status
        raise Leaves(kind, _given(run, part, words[0], state) if words else now.seen())

    return leaves


def _given(run: Commands, part: Simple, word: Word, state: State) -> Status:
    value = state.value_of(word)
    if isinstance(value, Status):
        return value.seen()
    number = number_of(value)
    if isinstance(number, int):
        if number and number % 256 == 0 and part not in run.odd_exits:
            run.odd_exits.append(part)
        return FINE if number % 256 == 0 else FAILS
    return OPEN


def leave_loop(kind: str) -> Builtin:
    def leaves(run: Commands, part: Simple, words: Sequence[Word], state: State) -> Status:
        if not state.loops:
            return FINE
        number = number_of(state.value_of(words[0])) if words else 1
        raise Leaves(kind, FINE, number if isinstance(number, int) and number > 0 else 1)

    return leaves


def wait(run: Commands, part: Simple, words: Sequence[Word], state: State) -> Status:
    if any(word.text.startswith("-") for word in words):
        return OPEN
    named = [item for word in words for item in items_of(_process(word, state)) if item != ""]
    if not named:
        if any(status.telling for status in state.processes):
            state.drop("exit_wait", part)
        state.processes = (OPEN,) * len(state.processes)  # bash may have forgotten how they ended
        return FINE
    found = [_end_of(item, state) for item in named]
    if any(status.telling for status in found[:-1]) and not found[-1].telling:
        state.drop("exit_wait", part)
    gone = {item.number for item in named if isinstance(item, Process)}
    state.processes = tuple(OPEN if n in gone else status for n, status in enumerate(state.processes))
    return found[-1].seen()


def _end_of(item: Value, state: State) -> Status:
    known = isinstance(item, Process) and item.number < len(state.processes)
    return state.processes[item.number] if isinstance(item, Process) and known else OPEN


def _process(word: Word, state: State) -> Value:
    job = re.fullmatch(r"%(\d{1,4})", word.text)
    return Process(int(job[1]) - 1) if job and job[1] != "0" else state.value_of(word)


def change_folder(run: Commands, part: Simple, words: Sequence[Word], state: State) -> Status:
    target = state.value_of(words[-1]) if words else "~"
    known = target.rstrip("/") if isinstance(target, str) else words[-1].text if words else ""
    there = not words or THERE.match(words[-1].text) or known in run.made or "$(" in words[-1].text
    if not there:
        run.met(part, Kind.EASY)
        run.changes_folder.add(part)
    if part is run.failing:
        state.fired = state.misled = True
        return Status(False, telling=True)
    state.go(target if isinstance(target, str) else None)
    return FINE


def evaluate(run: Commands, part: Simple, words: Sequence[Word], state: State) -> Status:
    if len(words) == 1 and words[0].literal is not None:
        program = run.inner.of_word(words[0])
    else:
        texts = [state.value_of(word) for word in words]
        known = all(isinstance(text, str) for text in texts)
        program = run.inner.of_text(part, " ".join(map(str, texts))) if known else None
    if program is None or run.depth >= DEEPEST_CALL:
        return run.outcome(part, (NOT_KNOWN,), called((NOT_KNOWN,)), state)
    run.depth += 1
    try:
        return run.block(program.block, state, False)
    finally:
        run.depth -= 1


def declare(run: Commands, part: Simple, words: Sequence[Word], state: State) -> Status:
    run.assign(part.assignments, state)
    return FINE


def forget(run: Commands, part: Simple, words: Sequence[Word], state: State) -> Status:
    for word in words:
        state.variables.pop(word.text, None)
        state.functions.pop(word.text, None)
    return FINE


def ask(run: Commands, part: Simple, words: Sequence[Word], state: State) -> Status:
    return Status(test_words(words, state), telling=tells(words, state))


def always(status: Status) -> Builtin:
    return lambda run, part, words, state: status


BUILTINS: dict[str, Builtin] = {
    "set": set_options,
    "shopt": set_shopt,
    "trap": set_trap,
    "exit": leave("exit"),
    "return": leave("return"),
    "break": leave_loop("break"),
    "continue": leave_loop("continue"),
    "wait": wait,
    "cd": change_folder,
    "eval": evaluate,
    "test": ask,
    "unset": forget,
    "true": always(FINE),
    ":": always(FINE),
    "false": always(FAILS),
    **dict.fromkeys(DECLARES, declare),
}
