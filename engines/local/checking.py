"""The check before the command: a program in a box like the command's, and the wait for leave to go on.

What it said is written down, for whoever looks; the engine judges nothing. A supervisor that finds it done,
because an earlier one was killed while it waited, does not do it again.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Mapping
from types import ModuleType
from typing import Any, NamedTuple

from engines.base import Check, CheckLook
from engines.local import cgroups, durable, keeper, layout, litter, scratch, tombstone, tree
from engines.local.box import Box
from engines.local.plan import Plan, Refused

OUTCOMES = ("done", "timed_out", "broke_off")
_END = b"TRAINYARD-CHECK-END"
_MOST_BYTES = 2**17  # of its output
_LARGEST = 2**20  # of the document
_TICK = 0.1
_KEEPER_S = 5.0
_PRIVATE = "TRAINYARD_CHECK_"
_OF_COMMAND = _PRIVATE + "OF_COMMAND_"


class Said(NamedTuple):
    """How the program ended, and what it had printed until then. Outcome `stopped` is never written down."""

    outcome: str
    text: bytes


def allowed(plan: Plan, check: Check, rank_path: str, maker: ModuleType) -> bool:
    """Check, and wait until the command may run; False if a stop was asked for, be it together with leave."""
    attempt_path = os.path.dirname(rank_path)
    path = os.path.join(rank_path, layout.CHECK)
    if not os.path.lexists(path):
        began = time.time()
        said = _run(_plan_of(plan, check), check.timeout_s, rank_path, maker)
        if said.outcome == "stopped":
            return False
        told = {"began": began, "ended": time.time(), "outcome": said.outcome}
        durable.write_json(path, {**told, "text": said.text.decode("utf-8", "replace")})
    while not os.path.lexists(os.path.join(attempt_path, layout.RELEASE)):
        if tombstone.stands(attempt_path):
            return False
        time.sleep(_TICK)
    return not tombstone.stands(attempt_path)


def read(rank_path: str) -> CheckLook | None:
    """What was written down, if it was."""
    try:
        told = durable.read_json(os.path.join(rank_path, layout.CHECK), _LARGEST)
        return _look(told) if told is not None else None
    except (durable.Unreadable, KeyError, TypeError, ValueError, OverflowError):
        return CheckLook("broke_off", "")


def _look(told: Mapping[str, Any]) -> CheckLook:
    if told["outcome"] not in OUTCOMES or not isinstance(told["text"], str):
        raise ValueError(told["outcome"])
    return CheckLook(told["outcome"], told["text"], float(told["began"]), float(told["ended"]))


def _plan_of(plan: Plan, check: Check) -> Plan:
    """The plan of a Worker whose command is the check, and whose variables are none of the job's."""
    addresses = ",".join(scratch.loopback(index) for index in range(len(plan.peers)))
    told = {"RANK": str(plan.rank), "GPUS": str(plan.gpus), "ADDRESSES": addresses}
    env = {_OF_COMMAND + name: value for name, value in plan.page.items()}
    env |= {**plan.env, **check.env} | {_PRIVATE + name: value for name, value in told.items()}
    return plan._replace(command=check.script, page={}, env=env)


def _run(plan: Plan, seconds: float, rank_path: str, maker: ModuleType) -> Said:
    layer = scratch.new_layer(rank_path, of_check=True)
    try:
        scratch.prepare(layer, plan)
        group = cgroups.make(plan.house.groups, plan.name, plan.memory_bytes, plan.cpus)
        box: Box = maker.build(plan, {}, layer)._replace(group=group)
    except OSError as error:
        raise Refused("sandbox_failed", detail=error.strerror or "OSError") from error
    kept = keeper.start(box, layer)
    try:
        return _listen(kept, time.monotonic() + seconds, os.path.dirname(rank_path))
    finally:
        _end(kept, box)
        if box.held:
            maker.release(plan, box.held)
        with contextlib.suppress(OSError):
            scratch.remove(layer, _KEEPER_S)


def _listen(kept: keeper.Kept, until: float, attempt_path: str) -> Said:
    """Let the program go, and take what it says up to its last line, its end, or the end of its time."""
    with contextlib.suppress(BrokenPipeError):
        os.write(kept.echo, b"ready\n")
    poll = select.poll()
    for fd in (kept.output, kept.report, kept.complaints, kept.status):
        poll.register(fd, select.POLLIN)
    text, over = b"", False
    while not over and time.monotonic() < until:
        for fd, _ in poll.poll(_TICK * 1000):
            data = _read(fd)
            if data == b"":
                poll.unregister(fd)
            elif fd == kept.output and data:
                text = (text + data)[:_MOST_BYTES]
            elif fd == kept.report and data:
                with contextlib.suppress(BrokenPipeError):
                    os.write(kept.control, b"go\n")
            over = over or (fd == kept.status and data is not None)
        if _END in text:
            return Said("done", text.partition(_END)[0])
        if tombstone.stands(attempt_path):
            return Said("stopped", text)
    return Said("broke_off" if over else "timed_out", text)


def _read(fd: int) -> bytes | None:
    """What is there; None if nothing is, b"" at the end."""
    try:
        return os.read(fd, 65536)
    except BlockingIOError:
        return None


def _end(kept: keeper.Kept, box: Box) -> None:
    """Nothing of the check lives on; the keeper sees to it, or else we do."""
    processes = [process.pid for process in tree.descendants(os.getpid())]
    os.close(kept.life)
    until = time.monotonic() + _KEEPER_S
    while time.monotonic() < until and not _reaped(kept.pid):
        time.sleep(0.01)
    tree.kill_all()
    litter.sweep(box.litter, processes)
    for fd in (kept.output, kept.report, kept.control, kept.echo, kept.complaints, kept.status):
        os.close(fd)


def _reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
