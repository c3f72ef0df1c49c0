"""A job's life as intervals, one after the other without gap: waiting, deploying, running, being ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any


class Phase(StrEnum):
    WAIT = "wait"
    DEPLOY = "deploy"
    RUN = "run"
    LEAVE = "leave"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt: when it got its GPUs, when its command began, when all of it was over. From `leaves_at`
    on it is ended because its nodes were taken."""

    number: int
    placed_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    leaves_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A deploy step of one attempt. Without `begin` it was not begun, or nobody saw when; without `end` it is
    under way. `reason`, a code and its data, is why the deployment failed there."""

    name: str
    begin: datetime | None = None
    end: datetime | None = None
    reason: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Life:
    """The times of a job; `runs` in order of their numbers."""

    created_at: datetime
    runs: Sequence[Run] = ()
    stop_requested_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """`run` is the attempt it belongs to: for a wait the one that follows. Open while `end` is None."""

    phase: Phase
    run: int
    begin: datetime
    end: datetime | None

    def lasts(self, now: datetime) -> timedelta:
        """Never negative, whatever the clocks say."""
        return max((self.end or now) - self.begin, timedelta())


def timeline(life: Life) -> tuple[Interval, ...]:
    """The intervals from creation to end; the last one is open while the job lives."""
    intervals: Iterable[Interval] = _intervals(life)
    for run in life.runs:
        intervals = _ended(intervals, run.leaves_at, Phase.LEAVE)
    return tuple(_ended(intervals, life.stop_requested_at, Phase.STOP))


def deploy_steps(run: Run, names: Sequence[str], kept: Mapping[str, Any] | None) -> tuple[Step, ...]:
    """The steps of one attempt, each up to the next that was begun; the first since it got its GPUs.

    `kept` is what was written down of the attempt's deployment, if anything was.
    """
    kept = kept or {}
    begun = {name: datetime.fromtimestamp(at, UTC) for name, at in kept.get("begun", {}).items()}
    known = [(name, begun.get(name)) for name in names]
    known[0] = (names[0], run.placed_at)
    broken = kept.get("broken") or {}
    steps = []
    for at, (name, begin) in enumerate(known):
        later = (other for _, other in known[at + 1 :] if other is not None)
        end = next(later, run.started_at or run.ended_at) if begin is not None else None
        steps.append(Step(name, begin, end, broken.get("reason") if name == broken.get("step") else None))
    return tuple(steps)


def _intervals(life: Life) -> Iterator[Interval]:
    begin = life.created_at
    for run in life.runs:
        yield Interval(Phase.WAIT, run.number, begin, run.placed_at)
        over = run.ended_at or life.ended_at
        yield Interval(Phase.DEPLOY, run.number, run.placed_at, run.started_at or over)
        if run.started_at is not None:
            yield Interval(Phase.RUN, run.number, run.started_at, over)
        if over is None:
            return
        begin = over
    if life.ended_at is None or begin < life.ended_at:
        yield Interval(Phase.WAIT, len(life.runs) + 1, begin, life.ended_at)


def _ended(intervals: Iterable[Interval], asked: datetime | None, phase: Phase) -> Iterator[Interval]:
    """Cuts in two what was under way when its end was asked for: from then on it is in `phase`."""
    for one in intervals:
        placed = one.phase in (Phase.DEPLOY, Phase.RUN, Phase.LEAVE)
        if asked is None or not placed or asked < one.begin or (one.end is not None and one.end <= asked):
            yield one
            continue
        yield Interval(one.phase, one.run, one.begin, asked)
        yield Interval(phase, one.run, asked, one.end)
        asked = None
