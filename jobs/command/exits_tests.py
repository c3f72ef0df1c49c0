"""Whether `[ … ]`, `[[ … ]]`, `test …` and `(( … ))` are true, as far as it is certain. Pure."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from jobs.command.exits_state import State, Status, Value, number_of
from jobs.command.exits_tree import Expression, Word

COMPARED: dict[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-gt": operator.gt,
    "-ge": operator.ge,
    "-lt": operator.lt,
    "-le": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
ALIKE = {"=", "==", "!="}
COUNTED: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "|": operator.or_,
}
ASSIGNS = {"=", "+=", "|="}


def tells(words: Sequence[Word], state: State) -> bool:
    """Whether one of the words is the exit code of the failure that is followed."""
    values = (state.value_of(word) for word in words)
    return any(isinstance(value, Status) and value.telling for value in values)


def test_words(words: Sequence[Word], state: State) -> bool | None:
    """Of `test` and its words."""
    if words and words[0].text == "!":
        return _turned(test_words(words[1:], state))
    values = [state.value_of(word) for word in words]
    if len(words) == 3:
        return _compare(words[1].text, values[0], values[2])
    if len(words) == 2 and words[0].text in {"-n", "-z"}:
        return _length(words[0].text, values[1])
    return None


def true(expression: Expression | None, state: State) -> bool | None:
    """Of `[ ]` and `[[ ]]`."""
    if expression is None:
        return None
    sides, sign = expression.sides, expression.operator
    if not sign:
        value = state.value_of(expression.word) if expression.word else None
        return bool(value) if isinstance(value, str) else True if isinstance(value, Status) else None
    if sign == "!" and len(sides) == 1:
        return _turned(true(sides[0], state))
    if len(sides) == 1 and sides[0].word and sign in {"-n", "-z"}:
        return _length(sign, state.value_of(sides[0].word))
    if len(sides) != 2:
        return None
    if sign in {"&&", "-a", "||", "-o"}:
        return _both(sign in {"&&", "-a"}, true(sides[0], state), true(sides[1], state))
    left, right = (side.word for side in sides)
    return _compare(sign, state.value_of(left), state.value_of(right)) if left and right else None


def _turned(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _both(every: bool, one: bool | None, other: bool | None) -> bool | None:
    decides = not every
    if one is decides or other is decides:
        return decides
    return None if one is None or other is None else every


def _length(sign: str, value: Value) -> bool | None:
    if isinstance(value, str):
        return bool(value) == (sign == "-n")
    return sign == "-n" if isinstance(value, Status) else None


def _compare(sign: str, left: Value, right: Value) -> bool | None:
    one, other = number_of(left), number_of(right)
    if one is not None and other is not None and sign.replace("=", "==", 1 if sign == "=" else 0) in COMPARED:
        return _numbers("==" if sign == "=" else sign, one, other)
    if sign in ALIKE and isinstance(left, str) and isinstance(right, str):
        return None if set("*?[") & set(right) else (left == right) == (sign != "!=")
    return None


def _numbers(sign: str, one: int | Status, other: int | Status) -> bool | None:
    """A status that is not zero is a number from 1 to 255."""
    compare = COMPARED[sign]
    answers = {
        compare(a, b)
        for a in ([1, 255] if isinstance(one, Status) else [one])
        for b in ([1, 255] if isinstance(other, Status) else [other])
    }
    sure = isinstance(one, int) or isinstance(other, int)
    if sign in {"==", "!="} and not (isinstance(one, int) and isinstance(other, int)):
        known = one if isinstance(one, int) else other
        return sign == "!=" if isinstance(known, int) and not 1 <= known <= 255 else None
    return answers.pop() if sure and len(answers) == 1 else None


def counted(expression: Expression | None, state: State) -> int | Status | None:
    """Of `(( ))` and `$(( ))`: the number, also taking over what is assigned. None if it is open."""
    if expression is None:
        return None
    sides, sign = expression.sides, expression.operator
    if not sign:
        return _operand(expression, state)
    if sign.removeprefix("pre") in {"++", "--"} and len(sides) == 1:
        return _step(sign, sides[0], state)
    if sign in ASSIGNS and len(sides) == 2:
        return _assign(sign, sides[0], counted(sides[1], state), state)
    if sign == "!" and len(sides) == 1:
        number = counted(sides[0], state)
        return None if number is None else int(number == 0)
    return _combined(sign, [counted(side, state) for side in sides])


def _combined(sign: str, numbers: Sequence[int | Status | None]) -> int | Status | None:
    if len(numbers) != 2:
        return None
    one, other = numbers
    if sign in {"||", "&&"}:
        truth = _both(sign == "&&", *(None if n is None else n != 0 for n in (one, other)))
        return None if truth is None else int(truth)
    if one is None or other is None:
        return None
    if sign in COMPARED:
        answer = _numbers(sign, one, other)
        return None if answer is None else int(answer)
    if isinstance(one, int) and isinstance(other, int):
        return COUNTED[sign](one, other) if sign in COUNTED else None
    if sign in {"+", "|"} and all(isinstance(n, Status) or n >= 0 for n in (one, other)):
        return one if isinstance(one, Status) else other
    return None


def _name(side: Expression) -> str:
    return side.word.text if side.word else ""


def _operand(side: Expression, state: State) -> int | Status | None:
    text = _name(side)
    value = state.value("$" + text) if text.isidentifier() else state.value(text)
    if value is None and text.isidentifier() and text not in state.variables:
        return None
    return number_of(value)


def _step(sign: str, side: Expression, state: State) -> int | None:
    old = _operand(side, state)
    step = 1 if sign.endswith("++") else -1
    new = old + step if isinstance(old, int) else None
    state.assign(_name(side), None if new is None else str(new))
    return new if sign.startswith("pre") else old if isinstance(old, int) else None


def _assign(sign: str, side: Expression, number: int | Status | None, state: State) -> int | Status | None:
    if sign != "=":
        number = _combined(sign[0], [_operand(side, state), number])
    state.assign(_name(side), str(number) if isinstance(number, int) else number)
    return number
