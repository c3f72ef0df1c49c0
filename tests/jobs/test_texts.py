"""Every code that the rules and the queue can give has a sentence."""

import ast
from pathlib import Path

import pytest
from django.utils import translation

from jobs.texts import FINDINGS, REASONS, duration_text, finding_text, reason_text
from jobs.texts.env_check import found_text
from runs.path_check import texts as path_check
from runs.stack_texts import STACK_REASONS

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [source for app in ("jobs", "runs", "engines") for source in (ROOT / app).rglob("*.py")]


def codes_of(maker: str) -> set[str]:
    """The literal first arguments of all calls `maker("…")` in the source."""
    codes = set()
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == maker:
                codes |= {
                    leaf.value
                    for argument in node.args[:1]
                    for leaf in (
                        [argument.body, argument.orelse] if isinstance(argument, ast.IfExp) else [argument]
                    )
                    if isinstance(leaf, ast.Constant)
                }
    return codes


def test_every_finding_has_a_sentence():
    codes = codes_of("Finding")
    assert len(codes) > 25
    assert codes - {"too_long"} <= FINDINGS.keys() | path_check.REFUSALS.keys()


def test_every_reason_has_a_sentence():
    queue = {"never_fits", "capacity", "out_of_service"}
    codes = codes_of("Reason") | queue
    assert len(codes) > 8
    assert codes - {"capacity"} <= REASONS.keys() | path_check.REASONS.keys() | STACK_REASONS.keys()


def test_every_fault_of_an_engine_has_a_sentence():
    codes = codes_of("Refused") | codes_of("Fault") - {"supervisor_lost"}
    assert len(codes) >= 5
    assert codes <= REASONS.keys() | STACK_REASONS.keys()


def test_what_can_never_run_is_told_with_its_numbers():
    one = {"workers": 1, "total_gpus": 1, "worker_gpus": 1}
    assert finding_text("never_fits", one) == (
        "Can never run here: the pool has not enough nodes for 1 Worker (1 GPU)."
    )
    assert reason_text("never_fits", one | {"total_gpus": 8}).endswith("for 1 Worker (8 GPUs).")
    assert finding_text("never_fits", one | {"workers": 2, "total_gpus": 2}).endswith("2 Workers (2 GPUs).")
    assert "it wants 1 GPU, and" in finding_text("over_quota", {"wanted": 1, "limit": 0})
    assert reason_text("out_of_service", one).endswith("room for 1 GPU in 1 Worker.")
    assert "holds 1 of at most 1 GPU of" in reason_text("quota", {"held": 1, "limit": 1, "wanted": 1})
    assert found_text("gpu_missing", {"seen": 0, "wanted": 1}) == "0 of the Worker's 1 GPU is there."
    assert found_text("gpu_missing", {"seen": 1, "wanted": 2}) == "1 of the Worker's 2 GPUs are there."


@pytest.mark.parametrize(("code", "signal"), [(137, 9), (143, 15), (128, None), (255, None), (3, None)])
def test_exit_codes_of_signals_are_told_without_claiming_more(code, signal):
    text = reason_text("exit_code", {"rank": 0, "exit_code": code})
    assert str(code) in text
    assert (f"signal {signal}" in text) == (signal is not None)
    assert "memory" not in text


@pytest.mark.parametrize("unit", ["bytes", "characters"])
def test_too_long_says_of_what(unit):
    assert unit in finding_text("too_long", {"most": 5, "unit": unit})


@pytest.mark.parametrize(
    ("code", "data", "english", "chinese"),
    [
        ("nproc_not_gpus", {"given": 1, "gpus": 8}, ["1 process,", "8 GPUs."], ["1 个进程", "8 卡"]),
        ("nproc_not_gpus", {"given": 2, "gpus": 1}, ["2 processes,", "1 GPU."], ["2 个进程", "1 卡"]),
        ("processes_not_gpus", {"given": 1, "gpus": 2}, ["1 process in", "2 GPUs."], ["1 个进程", "2 卡"]),
        ("no_launcher", {"gpus": 8}, ["8 GPUs."], ["8 卡"]),
        ("nnodes_not_workers", {"given": 1, "workers": 2}, ["1 node,"], ["1 台节点"]),
        ("world_size_as_processes", {"gpus": 8}, ["should be 8."], ["应为 8。"]),
    ],
)
@pytest.mark.usefixtures("chinese")
def test_sizes_and_counts_have_their_number(code, data, english, chinese):
    assert [part for part in english if part not in finding_text(code, data)] == []
    with translation.override("zh-hans"):
        assert [part for part in chinese if part not in finding_text(code, data)] == []


@pytest.mark.parametrize(
    ("least", "most", "unit", "english", "chinese"),
    [
        (30, 604800, "seconds", "Must be from 30 seconds to 7 days.", ("30 秒", "7 天")),
        (0, 3600, "seconds", "Must be from 0 seconds to 1 hour.", ("0 秒", "1 小时")),
        (0, 1440, "minutes", "Must be from 0 minutes to 1 day.", ("0 分钟", "1 天")),
        (1, 527040, "minutes", "Must be from 1 minute to 366 days.", ("1 分钟", "366 天")),
    ],
)
@pytest.mark.usefixtures("chinese")
def test_bounds_of_a_length_of_time_are_said_in_words(least, most, unit, english, chinese):
    data = {"least": least, "most": most, "unit": unit}
    assert finding_text("out_of_range", data) == english
    with translation.override("zh-hans"):
        assert all(part in finding_text("out_of_range", data) for part in chinese)


def test_capacity_says_the_numbers():
    data = {"workers": 3, "worker_gpus": 8, "total_gpus": 24, "room": 1, "largest_block": 5}
    assert reason_text("capacity", data) == (
        "Needs room for 3 Workers of 8 GPUs; "
        "there is room for 1 now, the largest free block on one node is 5 GPUs."
    )


@pytest.mark.parametrize(
    ("seconds", "english", "chinese"),
    [
        (0, "0 s", "0 秒"),
        (59, "59 s", "59 秒"),
        (90, "1 m 30 s", "1 分 30 秒"),
        (3600, "1 h 0 m", "1 小时 0 分"),
        (8040, "2 h 14 m", "2 小时 14 分"),
        (90_000, "1 d 1 h", "1 天 1 小时"),
    ],
)
@pytest.mark.usefixtures("chinese")
def test_lengths_of_time_by_their_two_largest_units(seconds, english, chinese):
    assert duration_text(seconds) == english
    with translation.override("zh-hans"):
        assert duration_text(seconds) == chinese


def test_capacity_tells_unequal_workers_apart_and_claims_nothing_about_idle_gpus():
    data = {"workers": 2, "worker_gpus": 8, "total_gpus": 12, "room": 0, "largest_block": 0}
    told = reason_text("capacity", data)  # what is idle may be meant for jobs ahead
    assert told == "Needs room for 1 Worker of 8 GPUs and one of 4 GPUs; no GPU is left now."
