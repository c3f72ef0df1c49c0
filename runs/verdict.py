"""What to do about an attempt after a look at its Workers. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from engines.base import Phase, WorkerLook
from jobs.findings import Reason
from jobs.rules.limits import HUNG_AFTER
from jobs.states import State
from runs.stages import Broken, Deployment

FAIL_FAST_GRACE_S = 5.0
_SAME_S = 0.001  # times that differ by less are one: some were stored in between
# What another attempt may get over; a missing mount or image, say, would be missing again at once.
RESTARTABLE = frozenset({"exit_code", "signal", "worker_lost", "disk_full", "out_of_memory"})
ALIVE = frozenset({Phase.STARTING, Phase.RUNNING})


@dataclass(frozen=True, slots=True)
class Cut:
    """Why the platform ends an attempt, from which moment on, and what the job then is. `broken` tells that
    its deployment failed, `platform` that neither the job nor a person is the cause; `grace_s` is given
    instead of that of the request."""

    at: float
    end: State
    reason: Reason
    broken: Broken | None = None
    platform: bool = False
    grace_s: float | None = None


@dataclass(frozen=True, slots=True)
class HangRule:
    """From `seconds` without any output on an attempt is suspect. It hangs once it was also idle for that
    long, or after `HUNG_AFTER` times that whatever it does.

    `action` is notify, restart or fail. What was told of already: `suspected` is the moment of the last
    output before the silence, `hung` when that became a hang.
    """

    seconds: int
    action: str
    suspected: float | None = None
    hung: float | None = None

    @property
    def cut(self) -> Cut | None:
        """Once the attempt has hung, and that is its end."""
        if self.hung is None or self.action == "notify":
            return None
        return Cut(self.hung, State.FAILED, Reason("hung", self.silence(self.suspected, self.hung)))

    def hangs_from(self, last_output: float, last_busy: float | None) -> float:
        """The moment at which a silence becomes a hang; None for what is not known."""
        whatever = last_output + HUNG_AFTER * self.seconds
        return whatever if last_busy is None else min(whatever, max(last_output, last_busy) + self.seconds)

    def silence(self, since: float | None, until: float) -> dict[str, int]:
        """What is told of a hang: how long it was silent and, if that told, how long `idle`."""
        longest = HUNG_AFTER * self.seconds
        silent = longest if since is None else min(round(until - since), longest)
        return {"seconds": silent} | ({} if silent == longest else {"idle": self.seconds})


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """An attempt as seen `now`. Times are seconds since the epoch. `first_failed` is the rank that an
    earlier look found to have failed first: a lost Worker has no time that would tell. The running time
    counts from `started_at`. `step_limits` are the seconds that a deploy step may last, by its name."""

    looks: Sequence[WorkerLook]
    expected: int
    now: float
    first_failed: int | None = None
    stop_requested_at: float | None = None
    stop_grace_s: float = 30.0
    started_at: float | None = None
    max_runtime_s: int | None = None
    hang: HangRule | None = None
    deployment: Deployment = field(default_factory=Deployment)
    step_limits: Mapping[str, float] = field(default_factory=dict)
    fault: Cut | None = None

    @property
    def cut(self) -> Cut | None:
        """The first cause to end the attempt. What ended by itself before a limit could act was not cut."""
        asked, limit = self.stop_requested_at, self._limit
        if asked is not None:
            over = limit is not None and limit.at <= min(asked, self.now)
            return limit if over else Cut(asked, State.STOPPED, Reason("stopped_by_user"))
        broken, fault = self._broken, self._fault
        if broken is not None and (fault is None or broken.at <= fault.at):
            ran = any(look.started_at is not None for look in self.looks)
            grace = None if ran else 0  # where no command ran there is nothing to be ended in peace
            return Cut(broken.at, State.FAILED, broken.reason, broken, grace_s=grace)
        hung = None if self.hang is None else self.hang.cut
        acts = any(look.stopped or look.phase in ALIVE for look in self.looks)
        cuts = (limit if acts else None, hung if acts else None, fault)
        due = [cut for cut in cuts if cut is not None and cut.at <= self.now]
        return min(due, key=lambda cut: cut.at, default=None)

    @property
    def _broken(self) -> Broken | None:
        """Where the deployment failed: what was written down, or a step that lasts for too long."""
        kept = self.deployment
        return kept.broken or kept.overdue(_by_rank(self), self.step_limits, self.now)

    @property
    def _fault(self) -> Cut | None:
        """A fault of the platform ends also what has not started, but nothing that has ended by itself."""
        alone = all(look.phase == Phase.EXITED and not look.stopped for look in self.looks)
        return None if alone and len(self.looks) == self.expected else self.fault

    @property
    def _limit(self) -> Cut | None:
        if self.started_at is None or self.max_runtime_s is None:
            return None
        reason = Reason("max_runtime", {"minutes": self.max_runtime_s // 60})
        return Cut(self.started_at + self.max_runtime_s, State.STOPPED, reason)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`stop` is the grace in seconds with which everything is to be ended, None: let it run; `cut` is the
    cause, where the job did not fail by itself. `end` is set once nothing of the attempt runs any more, and
    `restartable` tells that another attempt may do better. `suspected` is the last output before a silence
    that has to be told of, `hung` when such a silence became a hang, and `silence` what is told of that.
    `heard` says that there was output after a silence that was told of."""

    start: bool = False
    stop: float | None = None
    cut: Cut | None = None
    running: bool = False
    step: str = ""
    end: State | None = None
    reason: Reason | None = None
    exit_code: int | None = None
    first_failure: dict[str, Any] | None = None
    restartable: bool = False
    suspected: float | None = None
    hung: float | None = None
    silence: dict[str, int] | None = None
    heard: bool = False


def judge(standing: Standing) -> Verdict:
    """The next action, decided anew at every look: nothing is remembered between looks."""
    looks, cut = _by_rank(standing), standing.cut
    failure = first_failure(looks, standing.first_failed)
    if failure is not None and cut is not None and _failed_before(failure, cut, standing):
        cut = None
    ending = cut is not None or failure is not None
    if all(_gone(look, ending) for look in looks):
        return _end(standing, looks, failure, cut)
    if ending:
        grace = _grace(standing, cut)
        return Verdict(stop=grace, cut=cut, first_failure=_failure_json(failure), step=_step(looks))
    runs = all(look.phase in (Phase.RUNNING, Phase.EXITED) for look in looks)
    verdict = Verdict(
        start=any(look.phase == Phase.ABSENT for look in looks), running=runs, step=_step(looks)
    )
    return _heard(verdict, standing, looks) if runs and standing.hang else verdict


def _grace(standing: Standing, cut: Cut | None) -> float:
    if cut is None:
        return FAIL_FAST_GRACE_S
    return standing.stop_grace_s if cut.grace_s is None else cut.grace_s


def _heard(verdict: Verdict, standing: Standing, looks: Sequence[WorkerLook]) -> Verdict:
    """Adds what a silence of all Workers tells, where that was not told yet."""
    rule = standing.hang
    last = _latest([look.output_at if look.phase == Phase.RUNNING else look.ended_at for look in looks])
    if rule is None or last is None:
        return verdict
    if rule.suspected is not None and _later(last, rule.suspected):
        verdict, rule = replace(verdict, heard=True), replace(rule, suspected=None, hung=None)
    busy = _latest([look.busy_at if look.phase == Phase.RUNNING else look.ended_at for look in looks])
    if standing.now - last >= rule.seconds and _later(last, rule.suspected):
        verdict = replace(verdict, suspected=last)
    hung = rule.hangs_from(last, busy)
    if hung <= standing.now and _later(last, rule.hung):
        verdict = replace(verdict, hung=hung, silence=rule.silence(last, hung))
    return verdict


def _latest(times: Sequence[float | None]) -> float | None:
    """None as soon as one of them is not known."""
    return None if None in times else max((at for at in times if at is not None), default=None)


def _later(last: float, told: float | None) -> bool:
    return told is None or last - told > _SAME_S


def restart_pause(number: int, first_s: float, longest_s: float) -> float:
    """Seconds to wait before the restart of that number, which counts from 1: doubled each time."""
    return min(first_s * 2.0 ** (number - 1), longest_s)


def first_failure(looks: Sequence[WorkerLook], known: int | None = None) -> WorkerLook | None:
    """The Worker that ended badly first, of those that were not ended by us; `known` is its rank."""
    failed = [
        look
        for look in looks
        if look.phase == Phase.LOST
        or (look.phase == Phase.EXITED and not look.stopped and (look.fault or look.exit_code != 0))
    ]
    return min(failed, key=lambda look: (look.rank != known, look.ended_at or inf, look.rank), default=None)


def _by_rank(standing: Standing) -> list[WorkerLook]:
    """One look a rank; a rank that the engine does not know is absent."""
    known = {look.rank: look for look in standing.looks}
    return [known.get(rank, WorkerLook(rank, Phase.ABSENT)) for rank in range(standing.expected)]


def _gone(look: WorkerLook, ending: bool) -> bool:
    return look.phase in (Phase.EXITED, Phase.LOST) or (ending and look.phase == Phase.ABSENT)


def _step(looks: Sequence[WorkerLook]) -> str:
    return next((look.step for look in looks if look.phase == Phase.STARTING and look.step), "")


def _end(
    standing: Standing, looks: Sequence[WorkerLook], failure: WorkerLook | None, cut: Cut | None
) -> Verdict:
    last = max((look.ended_at or 0.0 for look in looks), default=0.0)
    if failure is not None and (cut is None or _ended_before(failure, cut.at)):
        reason = _reason(failure, standing.expected)
        return Verdict(
            end=State.FAILED,
            reason=reason,
            exit_code=failure.exit_code,
            first_failure=_failure_json(failure),
            restartable=cut is None and reason.code in RESTARTABLE,
        )
    if all(look.exit_code == 0 for look in looks) and (cut is None or last < cut.at):
        return Verdict(end=State.SUCCEEDED, exit_code=0)
    if cut is not None:
        hung = cut.end == State.FAILED and cut.broken is None and not cut.platform
        again = hung and standing.hang is not None and standing.hang.action == "restart"
        return Verdict(end=cut.end, cut=cut, reason=cut.reason, restartable=again)
    return Verdict(end=State.FAILED, reason=Reason("ended_by_platform"))


def _failed_before(failure: WorkerLook, cut: Cut, standing: Standing) -> bool:
    """Whether a limit came while the remains of a failure were cleared away, and nobody asked for an end."""
    return standing.stop_requested_at is None and _ended_before(failure, cut.at)


def _ended_before(failure: WorkerLook, requested: float) -> bool:
    """A lost Worker has no end that could have been before the request."""
    return failure.ended_at is not None and failure.ended_at < requested


def _reason(failure: WorkerLook, workers: int) -> Reason:
    rank = {"rank": failure.rank, "workers": workers}
    if failure.phase == Phase.LOST:
        return Reason("worker_lost", rank)
    if failure.fault is not None:
        return Reason(failure.fault.code, {**failure.fault.data, **rank})
    if failure.signal is not None:
        return Reason("signal", {**rank, "signal": failure.signal})
    return Reason("exit_code", {**rank, "exit_code": failure.exit_code})


def _failure_json(failure: WorkerLook | None) -> dict[str, Any] | None:
    if failure is None:
        return None
    return {"rank": failure.rank, "exit_code": failure.exit_code, "signal": failure.signal}
