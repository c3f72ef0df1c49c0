"""What to make sure of before the button: ticked where the request tells, left to its sender where not.

Nothing of it keeps a job from being created. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from jobs.command.paths import NamedPath, Use, absolute_paths, public_variables
from jobs.command.places import PUBLIC_DATA, within
from jobs.command.reading import Reading, reading
from jobs.environment import INJECTED_BY_FRAMEWORK
from jobs.estimate import Estimate, beyond_bounds
from jobs.facts import Facts
from jobs.findings import Finding, Level
from jobs.spec import JobSpec
from jobs.states import Framework

LAUNCHERS = ("torchrun", "accelerate", "deepspeed", "mpirun", "mpiexec")


class Standing(StrEnum):
    OK = "ok"
    ATTENTION = "attention"
    LATER = "later"  # what decides on it is not filled in yet
    HAND = "hand"  # the console cannot tell; the sender may tick it


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the list: `why` is the code of what there is to say, or else `finding` says it."""

    code: str
    standing: Standing
    why: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    field: str = ""
    finding: Finding | None = None


def checklist(
    spec: JobSpec, judged: Estimate, facts: Facts, unsure: Collection[Finding] = ()
) -> tuple[Point, ...]:
    """The points in the order of the form. `spec` is the request as typed; `unsure` are the findings that a
    later section may still settle."""
    case = _Case(spec, judged, facts, tuple(unsure))
    return tuple(judge(case) for judge in POINTS)


@dataclass(frozen=True)
class _Case:
    spec: JobSpec
    judged: Estimate
    facts: Facts
    unsure: tuple[Finding, ...]

    @cached_property
    def paths(self) -> tuple[NamedPath, ...]:
        return absolute_paths(self.spec.command, self.spec.env)

    @cached_property
    def read(self) -> Reading | None:
        return reading(self.spec.command, public_variables(self.spec.env))

    @property
    def workers(self) -> int | None:
        return self.judged.worker_count

    def found(self, code: str, wanted: Callable[[Finding], bool], field: str) -> Iterator[Point]:
        """The point as the first finding of this kind makes it."""
        for finding in self.judged.findings:
            if wanted(finding) and finding not in self.unsure:
                yield Point(code, Standing.ATTENTION, field=finding.field, finding=finding)
        for finding in self.unsure:
            if wanted(finding):
                yield Point(code, Standing.LATER, "depends", field=field)
        for finding in filter(beyond_bounds, self.judged.findings):  # nothing was looked for
            yield Point(code, Standing.ATTENTION, field=finding.field, finding=finding)

    def of_command(self, code: str, wanted: Callable[[Finding], bool], field: str) -> Iterator[Point]:
        """The same, of a point that nothing can be said of without a command."""
        yield from self.found(code, wanted, field)
        if not self.spec.command.strip():
            yield Point(code, Standing.LATER, "no_command", field="command")

    def on_volumes(self, uses: Iterable[Use], *, writable: bool) -> list[str]:
        """The paths of these uses that lie on a mount, or where they are only read on public data."""
        mounts = [m.mount_path for m in self.spec.mounts if not (writable and self._read_only(m.volume))]
        if self.spec.public_data and not writable:
            mounts.append(PUBLIC_DATA)
        wanted = set(uses)
        named = (p.path for p in self.paths if p.use in wanted)
        return list(dict.fromkeys(path for path in named if any(within(path, m) for m in mounts)))

    @cached_property
    def writable_mounts(self) -> list[str]:
        return [m.mount_path for m in self.spec.mounts if not self._read_only(m.volume)]

    def _read_only(self, volume: int) -> bool:
        known = self.facts.volumes.get(volume)
        return known is not None and known.read_only


def _resources(case: _Case) -> Point:
    judged = case.judged
    never = next((f for f in judged.findings if f.code in ("never_fits", "over_quota")), None)
    if never is not None:
        return Point("resources", Standing.ATTENTION, field=never.field, finding=never)
    if judged.total_gpus is None:
        return Point("resources", Standing.LATER, "no_spec", field="spec")
    if judged.reason is None:
        return Point("resources", Standing.OK, "starts_now", {"gpus": judged.total_gpus})
    place = judged.queue.position if judged.queue else 0
    field = "custom_gpus" if case.spec.custom else "worker_count"
    return Point("resources", Standing.ATTENTION, "queues", {"place": place}, field)


def _workers(case: _Case) -> Point:
    if case.workers is None:
        return Point("workers", Standing.LATER, "no_spec", field="spec")
    found = next((f for f in case.judged.findings if f.code in UNEVEN), None)
    if found is not None:
        return Point("workers", Standing.ATTENTION, field=found.field, finding=found)
    if case.workers == 1:
        return Point("workers", Standing.OK, "one_worker")
    data = {"workers": case.workers, "framework": case.spec.framework}
    return Point("workers", Standing.OK, "together", data)


def _image(case: _Case) -> Point:
    wrong = next((f for f in case.judged.findings if f.field == "image" and f.code != "required"), None)
    if wrong is not None:
        return Point("image", Standing.ATTENTION, field="image", finding=wrong)
    if case.facts.image is None:
        return Point("image", Standing.LATER, "no_image", field="image")
    return Point("image", Standing.OK, "offered", {"image": case.facts.image.reference})


def _code(case: _Case) -> Point:
    for point in case.of_command("code", _not_there, "mounts"):
        return point
    read = case.on_volumes((Use.READ, Use.UNCLEAR, Use.SAVED), writable=False)
    if read:
        return Point("code", Standing.OK, "on_volume", {"path": read[0]})
    return Point("code", Standing.HAND, "no_code_path", field="command")


def _outputs(case: _Case) -> Point:
    for point in case.of_command("outputs", _loses, "mounts"):
        return point
    written = case.on_volumes((Use.RESULT,), writable=True)
    if written:
        return Point("outputs", Standing.OK, "kept", {"path": written[0]})
    if case.spec.mounts and not case.writable_mounts:
        return Point("outputs", Standing.ATTENTION, "all_read_only", field="mounts")
    data = {"mount": next(iter(case.writable_mounts), "/mnt")}
    return Point("outputs", Standing.HAND, "no_output_path", data, "command")


def _failure(case: _Case) -> Point:
    for point in case.of_command("failure", _hides_a_failure, "command"):
        return point
    if any(f.code in NOT_CHECKED_TO_ITS_END for f in case.judged.findings):
        return Point("failure", Standing.HAND, "not_understood", field="command")
    return Point("failure", Standing.OK, "failure_shows")


def _distributed(case: _Case) -> Point:
    if case.workers is None:
        return Point("distributed", Standing.LATER, "no_spec", field="spec")
    for point in case.found("distributed", lambda f: f.code in MISLAUNCHES, "command"):
        return point
    if case.workers == 1:
        return Point("distributed", Standing.OK, "alone")
    if case.spec.framework == Framework.SINGLE or case.spec.framework not in set(Framework):
        return Point("distributed", Standing.ATTENTION, "no_framework", field="framework")
    if not case.spec.command.strip():
        return Point("distributed", Standing.LATER, "no_command", field="command")
    if used := _means_of_meeting(case):
        return Point("distributed", Standing.OK, "meets_by", {"names": used[:3]})
    data = {"framework": case.spec.framework}
    return Point("distributed", Standing.HAND, "variables_unseen", data, "command")


def _means_of_meeting(case: _Case) -> list[str]:
    """What the command names of launchers, and of the variables that the platform sets."""
    programs = [command.program for command in case.read.commands] if case.read else []
    variables = INJECTED_BY_FRAMEWORK[Framework(case.spec.framework)]
    named = [name for name in variables if re.search(rf"\b{name}\b", case.spec.command)]
    return [name for name in LAUNCHERS if name in programs] + named


def _resume(case: _Case) -> Point:
    for point in case.found("resume", lambda f: f.code in STARTS_ANEW, "auto_restart"):
        return point
    if case.spec.auto_restart:
        return Point("resume", Standing.OK, "resumes", {"restarts": case.spec.max_restarts})
    return Point("resume", Standing.HAND, "not_restarted")


def _trial(_case: _Case) -> Point:
    return Point("trial", Standing.HAND, "first_time")


def _not_there(finding: Finding) -> bool:
    """A path that is only read is lost before it is found; one that is written is another point."""
    return finding.code in NOT_THERE or (finding.code == "path_lost" and finding.level == Level.HINT)


def _loses(finding: Finding) -> bool:
    if finding.code == "path_lost":
        return finding.level != Level.HINT
    return finding.code in ("path_read_only", "no_mounts", "one_file_for_all")


def _hides_a_failure(finding: Finding) -> bool:
    return finding.code.startswith("exit_")


# Which findings decide on which point
UNEVEN = frozenset({"single_with_several_workers", "unequal_workers"})
MISLAUNCHES = frozenset(
    {
        "nproc_not_gpus",
        "processes_not_gpus",
        "world_size_as_processes",
        "nnodes_not_workers",
        "launcher_alone",
        "launcher_incomplete",
        "launcher_needs_framework",
        "node_rank_fixed",
        "master_addr_fixed",
        "master_port_fixed",
        "no_launcher",
        "injected_overwritten",
    }
)
NOT_CHECKED_TO_ITS_END = frozenset({"command_syntax", "command_too_long_to_check"})
STARTS_ANEW = frozenset({"no_resume"})
NOT_THERE = frozenset({"public_data_off", "path_not_mounted", "script_in_workspace"})

POINTS = (_resources, _workers, _image, _code, _outputs, _failure, _distributed, _resume, _trial)
