"""Where the trouble of a job may come from, in the order in which one looks: what holds of each now.

The points are those of the list before the button, judged anew for the request as it was frozen. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from jobs.estimate import Estimate
from jobs.facts import Facts
from jobs.findings import Finding, Level, Reason
from jobs.forms.checklist import Point, Standing, checklist
from jobs.spec import JobSpec
from jobs.states import PLACED, State

WORST_FIRST = (Standing.ATTENTION, Standing.LATER, Standing.HAND, Standing.OK)
SOON_S = 300.0  # who fails within this time of running has hardly trained


class Cause(StrEnum):
    RESOURCES = "resources"
    IMAGE = "image"
    START = "start"  # before the first batch
    HIDDEN = "hidden"  # it shows success, and failed
    NETWORK = "network"
    RESULTS = "results"


POINTS_OF = {
    Cause.RESOURCES: ("resources", "workers"),
    Cause.IMAGE: ("image",),
    Cause.START: ("code",),
    Cause.HIDDEN: ("failure",),
    Cause.NETWORK: ("distributed",),
    Cause.RESULTS: ("outputs",),
}
FIELDS_OF = {
    Cause.RESOURCES: ("pool", "spec", "worker_count", "custom_gpus", "flavor"),
    Cause.IMAGE: ("image",),
    Cause.START: ("mounts", "public_data", "command", "env"),
    Cause.NETWORK: ("rdma", "framework"),
}
OF_REASON = {
    "image_missing": Cause.IMAGE,
    "mount_missing": Cause.START,
    "mount_no_folder": Cause.START,
    "mount_denied": Cause.START,
    "private_value_unreadable": Cause.START,
    "out_of_memory": Cause.RESOURCES,
    "drained": Cause.RESOURCES,
    "node_lost": Cause.RESOURCES,
}
OF_STEP = {"pull_image": Cause.IMAGE, "storage": Cause.START}  # else the pool's nodes
OF_ITEM = {"storage": Cause.START, "rdma": Cause.NETWORK, "allreduce": Cause.NETWORK}


@dataclass(frozen=True, slots=True)
class Trouble:
    """Where a job stands; `ran` is how long its last run took, in seconds, None before its command ran."""

    state: State
    reason: Reason | None
    ran: float | None
    workers: int


@dataclass(frozen=True, slots=True)
class Row:
    """A cause: what to say of it, whether that is in order, and whether the job points there."""

    cause: Cause
    standing: Standing
    points: tuple[Point, ...]
    refused: tuple[Finding, ...]
    suspect: bool


def rows(trouble: Trouble, spec: JobSpec, judged: Estimate, facts: Facts) -> tuple[Row, ...]:
    """All causes. `judged` is what would become of the request now: what it refuses has changed since."""
    points = {point.code: point for point in checklist(spec, judged, facts)}
    suspects, told = suspected(trouble), blamed(trouble)
    return tuple(
        _blamed(row) if cause == told else _placed(row) if _has_gpus(cause, trouble) else row
        for cause in Cause
        for row in [_row(cause, [points[code] for code in POINTS_OF[cause]], judged, suspects)]
    )


def _blamed(row: Row) -> Row:
    """What is in order by the request is not what went wrong."""
    doubts = tuple(point for point in row.points if point.standing != Standing.OK)
    return replace(row, standing=Standing.ATTENTION, points=doubts)


def _has_gpus(cause: Cause, trouble: Trouble) -> bool:
    return cause == Cause.RESOURCES and trouble.state in PLACED


def _placed(row: Row) -> Row:
    """What would become of the request now counts the job itself among those that hold GPUs."""
    return replace(row, standing=Standing.OK, points=(), refused=())


def _row(cause: Cause, points: Sequence[Point], judged: Estimate, suspects: Iterable[Cause]) -> Row:
    fields = FIELDS_OF.get(cause, ())
    refused = tuple(f for f in judged.errors if f.field.partition(".")[0] in fields)
    told = tuple(point for point in points if point.finding not in refused or point.finding is None)
    standings = {point.standing for point in points}
    standing = Standing.ATTENTION if refused else next(one for one in WORST_FIRST if one in standings)
    return Row(cause, standing, told, refused, cause in suspects)


def suspected(trouble: Trouble) -> tuple[Cause, ...]:
    """Which causes the state of the job points to; none where nothing is wrong, or it tells nothing."""
    if trouble.state == State.QUEUED:
        return (Cause.RESOURCES,)
    if trouble.state == State.DEPLOYING:
        return (Cause.IMAGE, Cause.START)
    if trouble.state == State.SUCCEEDED:
        return (Cause.HIDDEN, Cause.RESULTS)
    if trouble.state != State.FAILED or trouble.reason is None:
        return ()
    if (told := blamed(trouble)) is not None:
        return (told,)
    if trouble.reason.code not in ("exit_code", "signal"):
        return ()
    meets = (Cause.NETWORK,) if trouble.workers > 1 else ()
    return (Cause.START, *meets) if (trouble.ran or 0.0) < SOON_S else meets


def blamed(trouble: Trouble) -> Cause | None:
    """The cause that the reason of a failure names by itself."""
    reason = trouble.reason
    if trouble.state != State.FAILED or reason is None:
        return None
    if reason.code == "hung":
        return Cause.NETWORK if trouble.workers > 1 else Cause.START
    if reason.code == "deploy_timeout":
        return OF_STEP.get(reason.data.get("step", ""), Cause.RESOURCES)
    if reason.code == "env_check":
        return OF_ITEM.get(reason.data.get("item", ""), Cause.RESOURCES)
    return OF_REASON.get(reason.code)


def doubtful(findings: Iterable[dict[str, str]]) -> bool:
    """Whether the success of a job may hide a failure, by what was found in its command when it was sent."""
    return any(
        found["code"].startswith("exit_") and found["level"] == str(Level.WARNING) for found in findings
    )
