"""No box at all: a process with its own folders, and mount paths made as links on the machine itself.

Not enforced here: anything. A job can do what the console's user can. `/etc/hosts` is the machine's, so
host names of other Workers are not known; read-only mounts can be written; /dev/shm is the machine's.

A job runs as the console's user, so it could also change what the engine keeps: its own log, how it ended,
that it was started or is to stop, other jobs' runs, the note on the sandbox. What lies there is read without
following links and never brings a look down; that it is true cannot be promised. If it kills supervisor and
keeper both, a process of its own in another session and without the environment it began with is found by
nobody and lives on.
"""

from __future__ import annotations

from collections.abc import Mapping

from engines.local import host, links
from engines.local.box import Box, checked_mounts, file_limit
from engines.local.plan import Plan, Refused, marked_environment
from engines.local.scratch import SCRIPT
from engines.local.shell import shell_argv


def build(plan: Plan, private: Mapping[str, str], scratch: str) -> Box:
    """The process for one Worker, at home in `scratch`; Refused if a mount path cannot be made."""
    held: list[int] = []
    try:
        for mount in checked_mounts(plan):
            held.extend(links.hold(plan.house.links, mount.source, mount.target))
    except Refused:
        links.release(plan.house.links, tuple(held))
        raise
    env = marked_environment(plan, private, f"{scratch}/root", f"{scratch}/tmp")  # noqa: S108
    return Box(
        argv=shell_argv(host.bash_path(), f"{scratch}/{SCRIPT}"),
        env=env,
        cwd=f"{scratch}/workspace",
        helpers=0,
        file_limit=file_limit(plan),
        held=tuple(held),
    )


def release(plan: Plan, held: tuple[int, ...]) -> None:
    """Give the mount paths back; the last user of a path that the engine made removes it."""
    links.release(plan.house.links, held)
