"""The deploy steps of an attempt: how far all its Workers are, and for how long a step may last. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from engines.base import Phase, WorkerLook
from jobs.findings import Reason
from jobs.states import DeployStep

LAUNCHES_BORNE = 5  # a supervisor that never comes to its first step was started so often at least
LAUNCH_TRIES_S = 60.0  # so long at most counts as tried after a launch: then the console or machine was away
# Where a Worker could not be started: the step that has to do with it.
STEP_OF_FAULT = {
    "mount_missing": DeployStep.STORAGE,
    "mount_no_folder": DeployStep.STORAGE,
    "mount_denied": DeployStep.STORAGE,
    "sandbox_failed": DeployStep.INITIALIZE,
    "image_missing": DeployStep.PULL_IMAGE,
    "engine_unavailable": DeployStep.ALLOCATE,
}


@dataclass(frozen=True, slots=True)
class Broken:
    """At which step a deployment failed, when and why. Once it is written down it is not undone."""

    step: str
    at: float
    reason: Reason

    def as_json(self) -> dict[str, Any]:
        return {"step": str(self.step), "at": self.at, "reason": self.reason.as_json()}


@dataclass(frozen=True, slots=True)
class Deployment:
    """What is known of an attempt's deployment, as it is kept: when all Workers had begun each step; when the
    engine was last asked to start them, how often it was, and for how long it had been tried by then; where
    it failed."""

    begun: Mapping[str, float] = field(default_factory=dict)
    launched_at: float | None = None
    launches: int = 0
    tried_s: float = 0.0
    broken: Broken | None = None

    @classmethod
    def from_json(cls, kept: Mapping[str, Any] | None) -> Deployment:
        """The inverse of `as_json`; nothing kept is nothing known."""
        kept = kept or {}
        broken = kept.get("broken")
        if broken:
            broken = Broken(broken["step"], broken["at"], Reason(**broken["reason"]))
        launches = kept.get("launched_at"), kept.get("launches", 0), kept.get("tried_s", 0.0)
        return cls(kept.get("begun", {}), *launches, broken)

    def as_json(self) -> dict[str, Any]:
        launches = {"launched_at": self.launched_at, "launches": self.launches, "tried_s": self.tried_s}
        return {
            "begun": dict(self.begun),
            **launches,
            "broken": self.broken.as_json() if self.broken else None,
        }

    @property
    def step(self) -> str:
        """The last step that all Workers have begun."""
        return next((step for step in reversed(DeployStep) if step in self.begun), DeployStep.ALLOCATE)

    def launched(self, now: float) -> Deployment:
        """The engine is asked once more to start what is missing."""
        return replace(self, launched_at=now, launches=self.launches + 1, tried_s=self._tried(now))

    def overdue(self, looks: Sequence[WorkerLook], limits: Mapping[str, float], now: float) -> Broken | None:
        """The step that has lasted for too long, of those that the looks show under way. What nobody tried
        meanwhile, as the machine or the console was away, takes no time."""
        under_way = [self._under_way(look, now) for look in looks]
        ends = [(since + limits[step], step) for step, since in filter(None, under_way) if step in limits]
        at, step = min(ends, default=(inf, ""))
        if at > now:
            return None
        return Broken(step, at, Reason("deploy_timeout", {"step": step, "seconds": limits[step]}))

    def _under_way(self, look: WorkerLook, now: float) -> tuple[str, float] | None:
        """The step in which a Worker is, and since when. One that is absent is in none, unless it was started
        again and again and never came to any. A supervisor begins after it was asked for, whatever another
        one has left behind."""
        if look.phase is Phase.STARTING and look.steps:
            step, began = look.steps[-1]
            return step, max(began, self.launched_at or 0.0)
        if look.phase is Phase.STARTING and self.launched_at is not None:
            return str(DeployStep.ALLOCATE), self.launched_at
        if look.phase is Phase.ABSENT and self.launches >= LAUNCHES_BORNE:
            return str(DeployStep.ALLOCATE), now - self._tried(now)
        return None

    def _tried(self, now: float) -> float:
        """For how many seconds the Workers have been tried to be started."""
        latest = now if self.launched_at is None else self.launched_at
        return self.tried_s + min(max(now - latest, 0.0), LAUNCH_TRIES_S)


def steps_begun(looks: Sequence[WorkerLook], expected: int) -> dict[str, float]:
    """When the last Worker had begun each step; a step that not all have begun is not told."""
    if len(looks) < expected:
        return {}
    begun: dict[str, float] = {}
    for step in DeployStep:
        times = [dict(look.steps).get(step) for look in looks]
        known = [at for at in times if at is not None]
        if known and len(known) == len(times):
            begun[str(step)] = max(known)
    return begun


def step_of(reason: Reason, deployment: Deployment) -> str:
    """The step at which an attempt failed whose command never ran."""
    return str(STEP_OF_FAULT.get(reason.code) or deployment.step)
