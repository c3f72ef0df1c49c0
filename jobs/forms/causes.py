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
BEFORE_IT_RAN = (126, 127)  # of bash itself: it found no program, or could not run it


class Cause(StrEnum):
    RESOURCES = "resources"
    IMAGE = "image"
    START = "start"  # before the first batch
    HIDDEN = "hidden"  # it shows success, and failed
    NETWORK = "network"
    RESULTS = "results"
    HANG = "hang"  # of a job that hung: where its processes stood


POINTS_OF = {
    Cause.RESOURCES: ("resources", "workers"),
    Cause.IMAGE: ("image",),
    Cause.START: ("code",),
    Cause.HIDDEN: ("failure",),
    Cause.NETWORK: ("distributed",),
    Cause.RESULTS: ("outputs",),
    Cause.HANG: (),
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
    """Where a job stands; `ran` is how long its last run took, in seconds, None before its command ran.
    `named` are the causes that the end of its log names, the likeliest first."""

    state: State
    reason: Reason | None
    ran: float | None
    workers: int
    named: tuple[Cause, ...] = ()

    @property
    def ended(self) -> bool:
        return self.state in (State.FAILED, State.SUCCEEDED)

    @property
    def late(self) -> bool:
        """Whether it ran for so long that it was past its first batch."""
        return self.ran is not None and self.ran >= SOON_S


@dataclass(frozen=True, slots=True)
class Row:
    """A cause: what to say of it, whether that is in order, and whether the job points there; `failed`: it is
    known that this went wrong, whatever the request looks like."""

    cause: Cause
    standing: Standing
    points: tuple[Point, ...]
    refused: tuple[Finding, ...]
    suspect: bool
    failed: bool = False

    @property
    def settled(self) -> bool:
        return self.standing == Standing.OK and not self.suspect


def rows(trouble: Trouble, spec: JobSpec, judged: Estimate, facts: Facts) -> tuple[Row, ...]:
    """The causes that may be, the suspected ones first. `judged` is what would become of the request now:
    what it refuses has changed since."""
    points = {point.code: point for point in checklist(spec, judged, facts)}
    suspects = suspected(trouble)
    known = {*trouble.named, blamed(trouble)} if trouble.state == State.FAILED else set()
    made = []
    for cause in _possible(trouble):
        row = _row(cause, [points[code] for code in POINTS_OF[cause]], judged, suspects)
        if cause in known:
            row = _failed(row)
        elif cause == Cause.RESOURCES and (trouble.ended or trouble.state in PLACED):
            row = _placed(row) if trouble.state in PLACED else _left(row)
        if row.points or row.refused or row.failed or not trouble.ended:
            made.append(row)
    order = {cause: place for place, cause in enumerate(suspects)}
    return tuple(sorted(made, key=lambda row: order.get(row.cause, len(order))))


def _possible(trouble: Trouble) -> list[Cause]:
    """A failure that shows is not hidden, and only what hung has stacks worth a look."""
    shows, hung = trouble.state == State.FAILED, blamed(trouble) == Cause.HANG
    return [c for c in Cause if not (c == Cause.HIDDEN and shows) and (c != Cause.HANG or hung)]


def _failed(row: Row) -> Row:
    """What is in order by the request is not what went wrong."""
    doubts = tuple(point for point in row.points if point.standing != Standing.OK)
    return replace(row, standing=Standing.ATTENTION, points=doubts, failed=True)


def _left(row: Row) -> Row:
    """Whether there is room now is nothing to a job that has ended."""
    doubts = tuple(p for p in row.points if p.code != "resources" and p.standing != Standing.OK)
    in_order = not doubts and not row.refused
    return replace(row, points=doubts, standing=Standing.OK if in_order else row.standing)


def _placed(row: Row) -> Row:
    """What would become of the request now counts the job itself among those that hold GPUs."""
    return replace(row, standing=Standing.OK, points=(), refused=())


def _row(cause: Cause, points: Sequence[Point], judged: Estimate, suspects: Iterable[Cause]) -> Row:
    fields = FIELDS_OF.get(cause, ())
    refused = tuple(f for f in judged.errors if f.field.partition(".")[0] in fields)
    told = tuple(point for point in points if point.finding not in refused or point.finding is None)
    standings = {point.standing for point in points}
    standing = (
        Standing.ATTENTION if refused else next((one for one in WORST_FIRST if one in standings), Standing.OK)
    )
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
    told = blamed(trouble)
    shell = (Cause.START,) if trouble.reason.data.get("exit_code") in BEFORE_IT_RAN else ()
    found = ((told,) if told is not None else ()) + trouble.named + shell
    return tuple(dict.fromkeys(found))


def blamed(trouble: Trouble) -> Cause | None:
    """The cause that the reason of a failure names by itself."""
    reason = trouble.reason
    if trouble.state != State.FAILED or reason is None:
        return None
    if reason.code == "hung":
        return Cause.HANG
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
