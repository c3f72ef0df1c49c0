"""The box that keeps jobs apart: bubblewrap, with its own user, pid, ipc, uts and mount namespaces.

Root or not, the command has no capability and cannot get one. `/` is a directory on disk, so what is
written outside the mounts never fills the memory; only /dev/shm is memory, of the spec's size. The folders
to mount are handed over as descriptors (`--bind-fd`: bubblewrap 0.10, or an older one with that mended):
whatever a job does on its volumes meanwhile, what was checked is mounted.

A job of a console that runs as root writes its volumes as root: it can leave a set-user-id program of root's
there. Inside, mounts are nosuid; on the machine that is up to how the volume's file system is mounted.

Not enforced here: the network (shared with the machine, loopback and abstract sockets included), the
number of processes, CPU and memory (but see `cgroups`), which GPUs are used (all device files are shown, as
otherwise their numbers would not be true; CUDA_VISIBLE_DEVICES tells), and the disk limit but by watching.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from engines.local import host
from engines.local.box import (
    ARGS_FD,
    SHOWN_FD,
    Box,
    checked_mounts,
    covered_places,
    file_limit,
    open_source,
)
from engines.local.plan import Plan, Refused, full_environment
from engines.local.scratch import SCRIPT
from engines.local.shell import shell_argv

ISOLATION = [
    *("--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
    *("--die-with-parent", "--cap-drop", "ALL"),
]
# A job of root's has root's user id in the machine's eyes: without this it could write core_pattern.
_PROC_READ_ONLY = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "asound", "mtrr")
_PROC_MASKED = ("kcore", "keys", "latency_stats", "sched_debug", "timer_list", "timer_stats")
_DEFAULT_SHM = 64 * 2**20


def build(plan: Plan, private: Mapping[str, str], scratch: str) -> Box:
    """The box for one Worker; `scratch` becomes its `/`."""
    mounts = checked_mounts(plan)
    args = [*ISOLATION, "--hostname", plan.hostname, *root_args(scratch, plan.house.tools), *kernel_args()]
    args += ["--size", str(plan.shm_bytes or _DEFAULT_SHM), "--perms", "1777", "--tmpfs", "/dev/shm"]  # noqa: S108
    if plan.gpus:
        args += [word for path in host.devices() for word in ("--dev-bind", path, path)]
    args += ["--remount-ro", "/dev"]
    empty = os.path.join(scratch, "home")
    for place in covered_places(host.lent_paths(plan.house.tools), plan.house):
        args += ["--ro-bind", empty, place]
    shown = tuple(open_source(mount) for mount in mounts)
    for number, mount in enumerate(mounts, SHOWN_FD):
        args += ["--ro-bind-fd" if mount.read_only else "--bind-fd", str(number), mount.target]
    args += ["--chdir", "/workspace", "--clearenv"]
    for name, value in full_environment(plan, private, "/root", "/tmp").items():  # noqa: S108
        args += ["--setenv", name, value]
    if any("\0" in word for word in args):  # it would end one argument and begin another
        raise Refused("sandbox_failed", detail="a value with a zero byte")
    return Box(
        argv=[plan.house.tool, "--args", str(ARGS_FD), "--", *shell_argv(host.bash_path(), f"/{SCRIPT}")],
        env={},
        cwd="/",
        helpers=2,
        hidden_args=b"".join(word.encode("utf-8", "surrogateescape") + b"\0" for word in args),
        file_limit=file_limit(plan),
        shown=shown,
    )


def root_args(scratch: str, tools: tuple[str, ...] = ()) -> list[str]:
    """`/` on disk with what the machine lends on it."""
    args = ["--bind", scratch, "/"]
    for path, target in host.lent_links():
        args += ["--symlink", target, path]
    for path in host.lent_paths(tools):
        args += ["--ro-bind", path, path]
    return args


def kernel_args() -> list[str]:
    """/proc without the switches of the machine, and a small /dev."""
    args = ["--proc", "/proc"]
    for name in _PROC_READ_ONLY:
        args += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
    for name in _PROC_MASKED:
        if os.path.exists(f"/proc/{name}"):
            args += ["--ro-bind", "/dev/null", f"/proc/{name}"]
    return [*args, "--dev", "/dev"]
