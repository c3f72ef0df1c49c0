"""A job's life as intervals."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jobs.timeline import Interval, Life, Phase, Run, timeline

T0 = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: int) -> datetime:
    return T0 + timedelta(seconds=seconds)


def short(life: Life) -> list[tuple[str, int, int, int | None]]:
    """Phase, run, begin and end in seconds."""

    def seconds(time: datetime) -> int:
        return int((time - T0).total_seconds())

    return [
        (str(i.phase), i.run, seconds(i.begin), None if i.end is None else seconds(i.end))
        for i in timeline(life)
    ]


@pytest.mark.parametrize(
    ("life", "intervals"),
    [
        (Life(T0), [("wait", 1, 0, None)]),
        (Life(T0, ended_at=at(9)), [("wait", 1, 0, 9)]),
        (Life(T0, [Run(1, at(5))]), [("wait", 1, 0, 5), ("deploy", 1, 5, None)]),
        (
            Life(T0, [Run(1, at(5), at(8))]),
            [("wait", 1, 0, 5), ("deploy", 1, 5, 8), ("run", 1, 8, None)],
        ),
        (
            Life(T0, [Run(1, at(5), None, at(9))], ended_at=at(9)),
            [("wait", 1, 0, 5), ("deploy", 1, 5, 9)],
        ),
        (
            Life(T0, [Run(1, at(5), at(8), at(20)), Run(2, at(30))]),
            [
                ("wait", 1, 0, 5),
                ("deploy", 1, 5, 8),
                ("run", 1, 8, 20),
                ("wait", 2, 20, 30),
                ("deploy", 2, 30, None),
            ],
        ),
        (
            Life(T0, [Run(1, at(5), at(8), at(20))], ended_at=None),
            [("wait", 1, 0, 5), ("deploy", 1, 5, 8), ("run", 1, 8, 20), ("wait", 2, 20, None)],
        ),
        (
            Life(T0, [Run(1, at(5), at(8), at(20), leaves_at=at(15)), Run(2, at(30))]),
            [
                ("wait", 1, 0, 5),
                ("deploy", 1, 5, 8),
                ("run", 1, 8, 15),
                ("leave", 1, 15, 20),
                ("wait", 2, 20, 30),
                ("deploy", 2, 30, None),
            ],
        ),
        (
            Life(T0, [Run(1, at(5), leaves_at=at(7))], stop_requested_at=at(9)),
            [("wait", 1, 0, 5), ("deploy", 1, 5, 7), ("leave", 1, 7, 9), ("stop", 1, 9, None)],
        ),
        (
            Life(T0, [Run(1, at(5), at(8))], stop_requested_at=at(50)),
            [("wait", 1, 0, 5), ("deploy", 1, 5, 8), ("run", 1, 8, 50), ("stop", 1, 50, None)],
        ),
        (
            Life(T0, [Run(1, at(5), at(8), at(60))], stop_requested_at=at(50), ended_at=at(60)),
            [("wait", 1, 0, 5), ("deploy", 1, 5, 8), ("run", 1, 8, 50), ("stop", 1, 50, 60)],
        ),
        (
            Life(T0, [Run(1, at(5), at(8), at(40))], stop_requested_at=at(50), ended_at=at(40)),
            [("wait", 1, 0, 5), ("deploy", 1, 5, 8), ("run", 1, 8, 40)],
        ),
    ],
)
def test_intervals_follow_each_other(life: Life, intervals: list[tuple[str, int, int, int | None]]) -> None:
    assert short(life) == intervals


def test_nothing_lasts_less_than_no_time() -> None:
    open_one = Interval(Phase.WAIT, 1, at(10), None)
    assert open_one.lasts(at(4)) == timedelta()
    assert open_one.lasts(at(14)) == timedelta(seconds=4)
    assert Interval(Phase.RUN, 1, at(10), at(12)).lasts(at(99)) == timedelta(seconds=2)
