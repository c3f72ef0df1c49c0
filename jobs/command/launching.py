"""Launchers' options against the Workers and GPUs of a request. Pure.

Of torchrun, `--nnodes` is the number of Workers and `--nproc_per_node` the GPUs of each; the platform says
the rest in MASTER_ADDR, MASTER_PORT, WORLD_SIZE (of Workers, not of processes) and RANK (of the Worker).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jobs.command.launchers import PYTHON, Launch, Option, launch_of
from jobs.command.lines import line_fix
from jobs.command.paths import public_variables
from jobs.command.reading import Reading, reading
from jobs.command.simple import names
from jobs.command.words import Word
from jobs.findings import Finding, Fix, Level
from jobs.spec import JobSpec
from jobs.states import Framework
from pools.capacity import Shape

_COUNTS_ITSELF = names("gpu auto cpu xpu")
_ONE_NODE = names("1 1:1")
_DIVIDES_GPUS = names("CUDA_VISIBLE_DEVICES LOCAL_RANK")
_STARTS_PROCESSES = names("deepspeed horovodrun colossalai mpirun mpiexec accelerate")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*\Z")
_TRAINS = re.compile(r"(^|[/_-])((pre|re)?train(er|ing)?|finetune|sft)([_-]\w+)?\.py\Z")
_CHOOSES_DEVICES = re.compile(r"gpus?\b|devices|n_?proc|num_processes|launcher|world_?size|strategy", re.I)


@dataclass(frozen=True, slots=True)
class _Case:
    """A launcher within the request it belongs to. `alone`: no other launcher, and nothing divides the GPUs.
    `told_by_env`: it gets options by variables PET_…, which torchrun reads too."""

    spec: JobSpec
    shape: Shape
    launch: Launch
    alone: bool
    told_by_env: bool

    @property
    def ddp(self) -> bool:
        return self.spec.framework == Framework.PYTORCH_DDP

    def option(self, code: str, option: Option, right: str, data: Mapping[str, Any]) -> Finding:
        """A wrong value, with the right one."""
        new = option.rewritten(right)
        fix = line_fix(self.spec.command, option.line, option.written, new) if option.written else None
        return Finding(code, "command", Level.WARNING, {**data, "line": option.line}, fix)

    def added(self, code: str, options: str, data: Mapping[str, Any]) -> Finding:
        """With options put in behind the launcher's name."""
        name = self.launch.name
        fix = line_fix(self.spec.command, name.line, name.raw, f"{name.raw} {options}")
        return Finding(code, "command", Level.WARNING, {**data, "line": self.launch.line}, fix)


def launch_findings(spec: JobSpec, shape: Shape | None) -> Iterator[Finding]:
    """Options that contradict the request; nothing while its Workers and GPUs are not known."""
    read = reading(spec.command, public_variables(spec.env))
    if read is None or shape is None:
        return
    launches = [launch for command in read.commands if (launch := launch_of(command)) is not None]
    set_names = _set_names(spec, read)
    alone = len(launches) == 1 and not set_names & _DIVIDES_GPUS
    told = any(name.startswith("PET_") for name in set_names)
    for launch in launches:
        case = _Case(spec, shape, launch, alone, told)
        yield from {"torchrun": _torchrun, "accelerate": _accelerate, "mpirun": _mpirun}[launch.kind](case)
    if not launches and not read.broken and not set_names & _DIVIDES_GPUS:
        yield from _without_launcher(spec, shape, read)


def _set_names(spec: JobSpec, read: Reading) -> set[str]:
    """All variables that page or command set, for one command or for all."""
    found = {v.name for v in spec.env} | {a.name for a in read.assignments}
    for command in read.commands:
        found |= {a.name for a in command.assigned}
        found |= {word.value.partition("=")[0] for word in command.wrapping if "=" in word.value}
    return found


def _torchrun(case: _Case) -> Iterator[Finding]:
    yield from _processes(case)
    if case.shape.workers == 1:
        yield from _more_nodes_than_one(case)
    elif case.ddp:
        yield from _several_workers(case)
    elif case.spec.framework == Framework.SINGLE and not _each_by_itself(case):
        fix = Fix("framework", Framework.SINGLE.value, Framework.PYTORCH_DDP.value)
        data = {"workers": case.shape.workers}
        yield Finding("launcher_needs_framework", "framework", Level.WARNING, data, fix)


def _each_by_itself(case: _Case) -> bool:
    """Whether it seems meant that every Worker trains alone."""
    nodes = case.launch.get("nnodes")
    one_node = "standalone" in case.launch.options or (nodes is not None and nodes.value.value in _ONE_NODE)
    return one_node or "TRAINYARD_WORKER" in case.spec.command


def _processes(case: _Case) -> Iterator[Finding]:
    """One process a GPU; fewer may be meant where the GPUs are divided among several launchers."""
    option = case.launch.get("nproc_per_node")
    if option is None or not case.shape.equal or option.value.value in _COUNTS_ITSELF:
        return
    gpus = case.shape.worker_gpus
    if option.value.is_variable("WORLD_SIZE"):
        if case.ddp and case.shape.workers != gpus:
            yield case.option("world_size_as_processes", option, str(gpus), {"gpus": gpus})
        return
    literal = case.launch.literal("nproc_per_node")
    if literal and literal[1] != gpus and (literal[1] > gpus or case.alone):
        yield case.option("nproc_not_gpus", option, str(gpus), {"given": literal[1], "gpus": gpus})


def _more_nodes_than_one(case: _Case) -> Iterator[Finding]:
    """torchrun would wait for the others until it gives up."""
    literal = case.launch.literal("nnodes")
    if literal and literal[1] > 1:
        right = "$WORLD_SIZE" if case.ddp else "1"
        yield case.option("nnodes_not_workers", literal[0], right, {"given": literal[1], "workers": 1})


def _several_workers(case: _Case) -> Iterator[Finding]:
    launch, workers = case.launch, {"workers": case.shape.workers}
    nodes = launch.get("nnodes")
    if "standalone" in launch.options:
        flag = launch.options["standalone"]
        new = f"--nnodes=$WORLD_SIZE {_missing(case)}".strip() if nodes is None else flag.written
        fix = line_fix(case.spec.command, flag.line, flag.written, new) if nodes is None else None
        yield Finding("launcher_alone", "command", Level.WARNING, {**workers, "line": flag.line}, fix)
    elif nodes is None:
        if not launch.opaque and not case.told_by_env:
            yield case.added("launcher_alone", f"--nnodes=$WORLD_SIZE {_missing(case)}".strip(), workers)
    elif nodes.value.value in _ONE_NODE:
        yield case.option("launcher_alone", nodes, "$WORLD_SIZE", workers)
    else:
        literal = launch.literal("nnodes")
        if literal and literal[1] != case.shape.workers:
            yield case.option("nnodes_not_workers", nodes, "$WORLD_SIZE", {**workers, "given": literal[1]})
        if (missing := _missing(case)) and not launch.opaque and not case.told_by_env:
            yield case.added("launcher_incomplete", missing, {**workers, "missing": missing})
    yield from _fixed(case)


def _missing(case: _Case) -> str:
    """The options without which the Workers do not find each other, with the right values."""
    launch = case.launch
    backend = launch.get("rdzv_backend")
    if backend is not None and backend.value.value != "static":
        return "" if launch.get("rdzv_endpoint") else "--rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT"
    wanted = [] if launch.get("node_rank") else ["--node_rank=$RANK"]
    if not launch.get("rdzv_endpoint"):
        wanted += [] if launch.get("master_addr") else ["--master_addr=$MASTER_ADDR"]
        wanted += [] if launch.get("master_port") else ["--master_port=$MASTER_PORT"]
    return " ".join(wanted)


def _fixed(case: _Case) -> Iterator[Finding]:
    """Rank and meeting point written out: they are known only when the Workers are placed."""
    launch = case.launch
    rank = launch.literal("node_rank", "machine_rank")
    if rank:
        yield case.option("node_rank_fixed", rank[0], "$RANK", {"given": rank[1]})
    address = launch.get("master_addr", "main_process_ip")
    if address is not None and _HOST.match(address.value.value):
        given = {"given": address.value.value[:80]}
        yield case.option("master_addr_fixed", address, "$MASTER_ADDR", given)
    port = launch.literal("master_port", "main_process_port")
    if port:
        yield case.option("master_port_fixed", port[0], "$MASTER_PORT", {"given": port[1]})
    point = launch.get("rdzv_endpoint")
    meeting = _fixed_endpoint(point.value) if point is not None else None
    if point is not None and meeting is not None:
        yield case.option(meeting[0], point, "$MASTER_ADDR:$MASTER_PORT", {"given": meeting[1]})


def _fixed_endpoint(value: Word) -> tuple[str, str] | None:
    host, _colon, port = value.value.partition(":")
    if _HOST.match(host):
        return "master_addr_fixed", host[:80]
    return ("master_port_fixed", port[:80]) if port.isdecimal() else None


def _accelerate(case: _Case) -> Iterator[Finding]:
    """It counts the processes of all Workers together, and calls Workers machines."""
    launch, total = case.launch, case.shape.total_gpus
    processes = launch.get("num_processes")
    by_workers = processes is not None and processes.value.is_variable("WORLD_SIZE")
    if processes is not None and by_workers and case.ddp and case.shape.worker_gpus > 1:
        yield case.option("world_size_as_processes", processes, str(total), {"gpus": total})
    literal = launch.literal("num_processes")
    if literal and literal[1] != total and (literal[1] > total or case.alone) and _spans_all(case):
        data = {"given": literal[1], "gpus": total}
        yield case.option("processes_not_gpus", literal[0], str(total), data)
    machines = launch.literal("num_machines")
    if machines and machines[1] != case.shape.workers and case.ddp:
        data = {"given": machines[1], "workers": case.shape.workers}
        yield case.option("nnodes_not_workers", machines[0], "$WORLD_SIZE", data)
    if case.shape.workers > 1 and case.ddp:
        yield from _fixed(case)


def _spans_all(case: _Case) -> bool:
    """Whether one launcher is to reach all the Workers."""
    return case.shape.workers == 1 or (case.ddp and case.launch.get("num_machines") is not None)


def _mpirun(case: _Case) -> Iterator[Finding]:
    """Within one Worker; more ranks than GPUs only: fewer, or ranks for the CPU, may be meant."""
    literal = case.launch.literal("np", "n", "c")
    if literal and case.shape.workers == 1 and literal[1] > case.shape.worker_gpus > 1:
        data = {"given": literal[1], "gpus": case.shape.worker_gpus, "line": literal[0].line}
        yield Finding("nproc_not_gpus", "command", Level.HINT, data)


def _without_launcher(spec: JobSpec, shape: Shape, read: Reading) -> Iterator[Finding]:
    """`python train.py` is one process, unless the script starts others itself: only a hint."""
    if spec.framework != Framework.PYTORCH_DDP or shape.worker_gpus == 1:
        return
    if any(command.program in _STARTS_PROCESSES for command in read.commands):
        return
    for command in read.commands:
        words = [word.value for word in command.words]
        script = next((i for i, word in enumerate(words) if not word.startswith("-")), None)
        if command.program not in PYTHON or script is None or not _TRAINS.search(words[script]):
            continue
        if not command.opaque and not any(_CHOOSES_DEVICES.search(word) for word in words[script + 1 :]):
            data = {"line": command.line, "gpus": shape.worker_gpus}
            yield Finding("no_launcher", "command", Level.HINT, data)
        return
