"""The program that runs one Worker: detached from everything, alive exactly while it holds its lock.

Started with an empty environment as `python -I -S -c … <rank directory>`. Private values come on
standard input, as JSON up to the end of file: if the launcher dies while it writes, nothing starts.
It answers on standard output with one word, `started`, `busy` or `over`, when everything it will ever
need is imported and the lock is taken, and lives on without its caller.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import time
import traceback
from types import ModuleType

from engines.local import (
    cgroups,
    checking,
    durable,
    keeper,
    layout,
    litter,
    lock,
    scratch,
    steps,
    tombstone,
    tree,
)
from engines.local.box import Box, checked_mounts
from engines.local.plan import Plan, Refused, read_plan
from engines.local.watch import End, Watch

_REMOVE_S = 2.0
BOXES = {"bubblewrap": "bubblewrap", "proot": "proot", "none": "bare"}


def main(rank_path: str) -> None:
    """Become the supervisor of one Worker, if nobody is or was."""
    private = json.loads(sys.stdin.buffer.read())
    attempt_path, rank = os.path.split(rank_path)
    plan = read_plan(attempt_path, int(rank))
    box_maker = importlib.import_module(f"engines.local.{BOXES[plan.house.mode]}")
    if os.fork():
        os._exit(0)
    os.umask(0o077)
    os.chdir("/")
    held = _claim(attempt_path, rank_path)
    if held is None:
        os._exit(0)
    _detach(rank_path)
    try:
        _run(plan, private, rank_path, box_maker)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _claim(attempt_path: str, rank_path: str) -> int | None:
    """Take the lock and look, under it, whether there is anything to do; answer the launcher."""
    fd = lock.open_lock(os.path.join(rank_path, layout.LOCK))
    if not lock.try_lock(fd):
        os.write(1, b"busy")
        return None
    done = [os.path.join(rank_path, name) for name in (layout.STARTED, layout.EXIT)]
    if tombstone.stands(attempt_path) or any(os.path.lexists(path) for path in done):
        os.write(1, b"over")
        return None
    os.write(1, b"started")
    return fd


def _detach(rank_path: str) -> None:
    """Let go of the launcher's pipes and of polite signals; our own errors go to the diary."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # a service that is restarted must not take jobs along
    diary = os.open(
        os.path.join(rank_path, layout.DIARY),
        os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW,
        0o600,
    )
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.dup2(diary, 2)


def _run(plan: Plan, private: dict[str, str], rank_path: str, box_maker: ModuleType) -> None:
    tree.adopt_orphans()
    steps.clear(rank_path)
    scratch.remove_layers(rank_path)  # of a supervisor that was killed before the command ran
    layer = scratch.new_layer(rank_path)
    held: tuple[int, ...] = ()
    try:
        box = _prepare(plan, private, (rank_path, layer), box_maker)
        held = box.held
        if _checked(plan, rank_path, box_maker):
            end, cut = _watched(plan, box._replace(group=_group(plan)), (rank_path, layer))
        else:
            end, cut = End(stopped=True, ended_at=time.time()), 0
    except Refused as refused:
        end, cut = End(fault=refused, ended_at=time.time()), 0
    if held:
        box_maker.release(plan, held)
    if plan.house.groups:
        cgroups.remove(cgroups.path(plan.house.groups, plan.name))
    _write_end(rank_path, end, cut)


def _checked(plan: Plan, rank_path: str, box_maker: ModuleType) -> bool:
    """Whether the command may run; False if a stop was asked for before."""
    if plan.check is None:
        return True
    steps.note(rank_path, "env_check")
    return checking.allowed(plan, plan.check, rank_path, box_maker)


def _watched(plan: Plan, box: Box, places: tuple[str, str]) -> tuple[End, int]:
    """The command, up to its end and that of all it started; and how much of its output was thrown away."""
    watch = Watch(plan, keeper.start(box, places[1]), box, places)
    end = _for_want_of_memory(watch.run(), plan, watch.memory)
    processes = [process.pid for process in tree.descendants(os.getpid())]
    tree.kill_all()
    litter.sweep(box.litter, processes)
    watch.finish()
    return end, watch.log.cut_bytes


def _prepare(plan: Plan, private: dict[str, str], places: tuple[str, str], box_maker: ModuleType) -> Box:
    """The deploy steps up to a box that can be started; Refused if there can be none."""
    rank_path, layer = places
    try:
        steps.note(rank_path, "storage")
        checked_mounts(plan)
        steps.note(rank_path, "initialize")
        scratch.prepare(layer, plan)
        steps.note(rank_path, "pull_image")
        if plan.image != "host":
            raise Refused("image_missing", image=plan.image)
        box: Box = box_maker.build(plan, private, layer)
    except OSError as error:
        raise Refused("sandbox_failed", detail=error.strerror or "OSError") from error
    return box


def _group(plan: Plan) -> str:
    """The control group of the Worker, or "". Made only now: that of the check was removed with its box."""
    try:
        return cgroups.make(plan.house.groups, plan.name, plan.memory_bytes, plan.cpus)
    except OSError as error:
        raise Refused("sandbox_failed", detail=error.strerror or "OSError") from error


def _for_want_of_memory(end: End, plan: Plan, memory: cgroups.OomMeter) -> End:
    """How it ended stays as it was; a Worker that ended well, or was told to, has not failed for that."""
    badly = end.fault is None and not end.stopped and end.exit_code != 0
    killed = signal.SIGKILL in (end.signal, (end.exit_code or 0) - 128)
    if badly and memory.is_cause(time.monotonic(), killed):
        return end._replace(fault=Refused("out_of_memory", limit_gib=plan.memory_bytes // 2**30))
    return end


def _write_end(rank_path: str, end: End, cut: int) -> None:
    """The layer goes first, unless it stays. What cannot be deleted soon is only out of sight when the end is
    told."""
    doomed = scratch.hide_layers(rank_path)
    for path in doomed:
        with contextlib.suppress(OSError):
            scratch.remove(path, _REMOVE_S)
    fault = {"code": end.fault.code, "data": end.fault.data} if end.fault else None
    told = {"fault": fault, "cut_bytes": cut, "steps": steps.read(rank_path)}
    durable.write_json(os.path.join(rank_path, layout.EXIT), {**end._asdict(), **told})
    for path in doomed:
        scratch.remove(path)
