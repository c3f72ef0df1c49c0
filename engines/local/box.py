"""What the three ways of running a command have in common, and the rules for mounts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from engines.local import folders, host
from engines.local.plan import House, MountPlan, Plan, Refused


class Box(NamedTuple):
    """A program to start: the sandbox around the shell, or the shell itself.

    `hidden_args` goes to the program through descriptor `ARGS_FD`, never through its argument list.
    `helpers` counts the processes between keeper and shell; a stop does not signal those.
    `file_limit` is the largest file in bytes, or 0. `old_calls`: newer system calls are hidden from it.
    `held` are locks to keep while it runs. `shown` are folders that the program gets as descriptors from
    `SHOWN_FD` on. `litter` are patterns of what the program leaves in places of its own, with `{pid}`.
    `group` is the control group that it joins before it starts, or "".
    """

    argv: list[str]
    env: dict[str, str]
    cwd: str
    helpers: int
    hidden_args: bytes = b""
    file_limit: int = 0
    old_calls: bool = False
    held: tuple[int, ...] = ()
    shown: tuple[int, ...] = ()
    litter: tuple[str, ...] = ()
    group: str = ""


ARGS_FD = 6
SHOWN_FD = 10
_SYSTEM = ("/proc", "/sys", "/dev")


def checked_mounts(plan: Plan) -> list[MountPlan]:
    """The mounts with their plain sources; Refused if one cannot be shown.

    Who reads the refusal knows the target; where it lies on the machine is not told to users.
    """
    mounts: list[MountPlan] = []
    for mount in plan.mounts:
        _check_target(mount.target, [other.target for other in mounts], plan.house)
        plain = mount._replace(source=os.path.normpath(mount.source))
        os.close(open_source(plain))
        if not may_be_shown(plain.source, plan.house):
            raise denied(mount.target, "its folder belongs to the console")
        mounts.append(plain)
    return mounts


def open_source(mount: MountPlan) -> int:
    """The folder to show, as a descriptor; Refused if it is not there, no folder, or only behind a symbolic
    link."""
    if not mount.source.startswith("/") or "\0" in mount.source:
        raise Refused("mount_missing", path=mount.target)
    try:
        return folders.open_folder(mount.source)
    except folders.Missing as error:
        raise Refused("mount_missing", path=mount.target) from error
    except folders.NoFolder as error:
        raise Refused("mount_no_folder", path=mount.target) from error
    except folders.LinkAbove as error:
        raise denied(mount.target, "its folder lies behind a symbolic link") from error


def denied(target: str, detail: str) -> Refused:
    """That `target` cannot be mounted; `detail` is what users read of it."""
    return Refused("mount_denied", path=target, detail=detail)


def _check_target(target: str, others: Iterable[str], house: House) -> None:
    """Every directory above a target is the Worker's own and new.

    What makes the place for a mount does so with the machine's root in reach, and follows symbolic links.
    So no target may lead through what anybody could have filled before: another mount above all.
    """
    if not _is_proper(target):
        raise denied(target, "it is no proper path")
    for other in others:
        if _holds(other, target) or _holds(target, other):
            raise denied(target, "one mount lies in another")
    links = (path for path, _ in host.lent_links())
    for place in (*_SYSTEM, *links, *host.lent_paths(house.tools)):
        if _holds(place, target):
            raise denied(target, "the system is there")


def _is_proper(path: str) -> bool:
    """Absolute, without detours, not the root itself. (`normpath` leaves two leading slashes as they are.)"""
    return path == "/" + os.path.normpath(path).strip("/") != "/" and "\0" not in path


def may_be_shown(source: str, house: House) -> bool:
    """False for a path without links that holds, or lies in, what is the console's own."""
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
