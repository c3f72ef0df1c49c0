"""What the three ways of running a command have in common, and the rules for mounts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from engines.local.plan import House, MountPlan, Plan, Refused


class Box(NamedTuple):
    """A program to start: the sandbox around the shell, or the shell itself.

    `hidden_args` goes to the program through descriptor `ARGS_FD`, never through its argument list.
    `helpers` counts the processes between keeper and shell; a stop does not signal those.
    `file_limit` is the largest file in bytes, or 0. `old_calls`: newer system calls are hidden from it.
    `held` are locks to keep while it runs.
    """

    argv: list[str]
    env: dict[str, str]
    cwd: str
    helpers: int
    hidden_args: bytes = b""
    file_limit: int = 0
    old_calls: bool = False
    held: tuple[int, ...] = ()


ARGS_FD = 6


def checked_mounts(plan: Plan) -> list[MountPlan]:
    """The mounts with their real sources, outer targets first; Refused if one cannot be shown.

    Who reads the refusal knows the target; where it lies on the machine is not told to users.
    """
    mounts: list[MountPlan] = []
    for mount in sorted(plan.mounts, key=lambda mount: mount.target.count("/")):
        source = os.path.realpath(mount.source)
        if not os.path.isdir(source):
            raise Refused("mount_missing", path=mount.target)
        if _is_improper(mount.target) or not may_be_shown(source, plan.house):
            raise Refused("mount_denied", path=mount.target)
        _check_nested(mount, mounts)
        mounts.append(MountPlan(source, mount.target, mount.read_only))
    return mounts


def _is_improper(target: str) -> bool:
    return (
        not target.startswith("/") or target != os.path.normpath(target) or target.count("/") == len(target)
    )


def _check_nested(mount: MountPlan, outer: Iterable[MountPlan]) -> None:
    """Below a read-only mount nothing can be made: there the place must exist already."""
    for parent in outer:
        inside = os.path.relpath(mount.target, parent.target)
        if parent.read_only and not inside.startswith(".."):
            place = os.path.join(parent.source, inside)
            if not os.path.isdir(place):
                raise Refused("mount_denied", path=mount.target)


def may_be_shown(source: str, house: House) -> bool:
    """False for a real path that holds, or lies in, what is the console's own."""
    if any(_holds(place, source) for place in house.shareable):
        return True
    return not _holds(house.private, source) and not _holds(source, house.private)


def covered_places(lent: Iterable[str], house: House) -> list[str]:
    """Where something of the console's own would show in what the machine lends: to be covered."""
    covers = any(_holds(os.path.realpath(path), house.private) for path in lent)
    return [house.private] if covers else []


def _holds(outer: str, inner: str) -> bool:
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")


def file_limit(plan: Plan) -> int:
    """No single file may outgrow the disk; only where no volume is written, whose files may be larger."""
    return 0 if any(not mount.read_only for mount in plan.mounts) else plan.disk_bytes
