"""The box without namespaces that still shows the right paths: proot, by tracing system calls.

Not enforced here: anything. A job can read and write what the console's user can, read-only mounts
included; /dev/shm is the machine's; the host name stays; processes see each other. Only convenience.
The run directories are as open to it as `bare` tells.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from engines.local import host
from engines.local.box import Box, checked_mounts, covered_places, denied, file_limit
from engines.local.plan import Plan, marked_environment
from engines.local.scratch import SCRIPT
from engines.local.shell import shell_argv

# Debian's proot knows no PROOT_TMP_DIR, and removes neither its loader nor the folder of its bindings.
LITTER = ("/tmp/proot-{pid}-*", "/tmp/prooted-{pid}-*")  # noqa: S108


def build(plan: Plan, private: Mapping[str, str], scratch: str) -> Box:
    """The box for one Worker; `scratch` becomes its `/`."""
    mounts = checked_mounts(plan)
    args = root_args(scratch, plan.house.tools)
    empty = os.path.join(scratch, "home")
    for place in covered_places(host.lent_paths(plan.house.tools), plan.house):
        args += ["-b", f"{empty}:{place}"]
    for mount in mounts:
        if ":" in mount.source + mount.target:
            raise denied(mount.target, "proot knows no path with a colon")
        os.makedirs(scratch + mount.target, exist_ok=True)
        args += ["-b", f"{mount.source}:{mount.target}"]
    env = marked_environment(plan, private, "/root", "/tmp")  # noqa: S108
    return Box(
        argv=[plan.house.tool, *args, "-w", "/workspace", *shell_argv(host.bash_path(), f"/{SCRIPT}")],
        env={**env, "PROOT_TMP_DIR": os.path.join(scratch, "run/trainyard")},
        cwd="/",
        helpers=1,
        file_limit=file_limit(plan),
        old_calls=True,
        litter=LITTER,
    )


def root_args(scratch: str, tools: tuple[str, ...] = ()) -> list[str]:
    """`/` on disk with what the machine lends on it, and the machine's /proc, /dev."""
    for path, target in host.lent_links():
        if not os.path.lexists(scratch + path):
            os.symlink(target, scratch + path)
    args = ["-r", scratch]
    for path in (*host.lent_paths(tools), "/proc", "/dev"):
        args += ["-b", f"{path}:{path}"]
    return args
