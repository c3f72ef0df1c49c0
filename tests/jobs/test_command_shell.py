"""The shell parser: positions, and what is not analysed."""

from __future__ import annotations

import pytest

from jobs.command.shell import MOST_ANALYSED, MOST_OPEN, MOST_SIGNS, parsed, walk


def test_positions_are_lines_and_texts_are_whole_characters() -> None:
    script = parsed("cd /数据\n训练 | tee 日志  # 说明\n")
    assert script is not None
    pipe = next(node for node in walk(script.root) if node.type == "pipeline")
    assert (script.line_of(pipe), script.last_line_of(pipe)) == (2, 2)
    assert script.text_of(pipe) == "训练 | tee 日志"
    assert script.lines(1, 1) == "cd /数据"
    assert not script.broken


def test_broken_text_has_a_tree_too() -> None:
    script = parsed("echo 'never closed\ntrain")
    assert script is not None
    assert script.broken


@pytest.mark.parametrize(
    ("text", "analysed"),
    [
        ("#" * MOST_ANALYSED, True),
        ("#" * (MOST_ANALYSED + 1), False),
        ("汉" * (MOST_ANALYSED // 3 + 1), False),
        ("a=(" * MOST_OPEN, True),
        ("a=(" * (MOST_OPEN + 1), False),
        ("a=()\n" * (MOST_OPEN + 1), True),
        ("a | " * MOST_SIGNS, True),
        ("a | " * (MOST_SIGNS + 1), False),
        ("a@" * (MOST_SIGNS + 1), False),
        (">" * (MOST_SIGNS + 1), False),
        (")" * (MOST_OPEN + 1), False),
        ("a\0b", False),
    ],
)
def test_what_would_cost_too_much_is_not_analysed(text: str, analysed: bool) -> None:
    assert (parsed(text) is not None) is analysed
