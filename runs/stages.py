"""The deploy steps of an attempt: how far all its Workers are, and for how long a step may last. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engines.base import Phase, WorkerLook
from jobs.findings import Reason
from jobs.states import DeployStep

LAUNCHES_BORNE = 5  # a supervisor that never comes to its first step was started so often at least
# Where a Worker could not be started: the step that has to do with it.
STEP_OF_FAULT = {
    "mount_missing": DeployStep.STORAGE,
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
    engine was first asked to start them, and how often it was; where it failed."""

    begun: Mapping[str, float] = field(default_factory=dict)
    launched_at: float | None = None
    launches: int = 0
    broken: Broken | None = None

    @classmethod
    def from_json(cls, kept: Mapping[str, Any] | None) -> Deployment:
        """The inverse of `as_json`; nothing kept is nothing known."""
        kept = kept or {}
        broken = kept.get("broken")
        if broken:
            broken = Broken(broken["step"], broken["at"], Reason(**broken["reason"]))
        return cls(kept.get("begun", {}), kept.get("launched_at"), kept.get("launches", 0), broken)

    def as_json(self) -> dict[str, Any]:
        told = {"begun": dict(self.begun), "launched_at": self.launched_at, "launches": self.launches}
        return {**told, "broken": self.broken.as_json() if self.broken else None}

    @property
    def step(self) -> tuple[str, float | None]:
        """The step that is under way, and since when."""
        begun = [(step, self.begun[step]) for step in DeployStep if step in self.begun]
        return begun[-1] if begun else (DeployStep.ALLOCATE, self.launched_at)

    def overdue(self, limits: Mapping[str, float], now: float) -> Broken | None:
        """The step that has lasted for too long. While nobody tried to start anything no time counts."""
        step, since = self.step
        limit = limits.get(step)
        if limit is None or since is None or since + limit > now:
            return None
        if step == DeployStep.ALLOCATE and self.launches < LAUNCHES_BORNE:
            return None
        return Broken(step, since + limit, Reason("deploy_timeout", {"step": str(step), "seconds": limit}))


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


def is_deploying(looks: Sequence[WorkerLook]) -> bool:
    """Whether some Worker has not come to its command yet."""
    return any(look.phase in (Phase.ABSENT, Phase.STARTING) for look in looks)


def step_of(reason: Reason, deployment: Deployment) -> str:
    """The step at which an attempt failed whose command never ran."""
    return str(STEP_OF_FAULT.get(reason.code) or deployment.step[0])
