"""The throw-away layer: a directory on disk that is the Worker's `/`, or its home where there is no sandbox.

It lies below the Worker's directory and is gone when the Worker has ended, unless it is kept (`stays`). The
size limit is watched, not enforced by the system: `measure` sums the layer bit by bit while the supervisor
has nothing to do.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import re
import stat
import time
from collections.abc import Iterator

from engines.local import layout
from engines.local.plan import Plan, user_name
from engines.local.shell import script_bytes

SCRIPT = "run/trainyard/command"
_DIRS = (
    "tmp",
    "var/tmp",
    "root",
    "home",
    "workspace",
    "run/trainyard",
    "etc/mpi",
    "mnt",
    "dev",
    "proc",
    "sys",
)
_GONE = ".gone"  # the end of a hidden layer's name
_OF_COMMAND = re.compile(re.escape(layout.SCRATCH) + "[0-9a-f]{8}")
_SLICE = 2000  # directory entries looked at in one step


def prepare(scratch: str, plan: Plan) -> None:
    """Make the layer: empty places to write, the command as a file, and a small /etc of its own."""
    former = os.umask(0o022)
    try:
        for name in _DIRS:
            os.makedirs(os.path.join(scratch, name), exist_ok=True)
        for name in ("tmp", "var/tmp"):
            os.chmod(os.path.join(scratch, name), 0o1777)  # noqa: S103 -- as every /tmp
        _write(scratch, SCRIPT, script_bytes(plan.command))
        for name, text in _etc_files(plan).items():
            _write(scratch, f"etc/{name}", text.encode())
    finally:
        os.umask(former)


def _write(scratch: str, name: str, data: bytes) -> None:
    with open(os.path.join(scratch, name), "xb") as file:
        file.write(data)


def _etc_files(plan: Plan) -> dict[str, str]:
    uid, gid = os.getuid(), os.getgid()
    users = ["root:x:0:0:root:/root:/bin/bash"]
    groups = ["root:x:0:"]
    if uid:
        users.append(f"{user_name()}:x:{uid}:{gid}::/root:/bin/bash")
    if gid:
        groups.append(f"{user_name()}:x:{gid}:")
    if uid != 65534:
        users.append("nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin")
        groups.append("nogroup:x:65534:")
    hosts = ["127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback"]
    hosts += [f"{loopback(index)} {peer.hostname}" for index, peer in enumerate(plan.peers)]
    slots = [(peer.hostname, max(peer.gpus, 1)) for peer in plan.peers]
    return {
        "passwd": _lines(users),
        "group": _lines(groups),
        "hosts": _lines(hosts),
        "hostname": _lines([plan.hostname]),
        "mpi/hostfile": _lines([f"{name} slots={count}" for name, count in slots]),
        "mpi/hostfile.mpich": _lines([f"{name}:{count}" for name, count in slots]),
    }


def _lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def loopback(index: int) -> str:
    """An address of this machine for the n-th Worker; each its own, as MPI wants it."""
    return f"127.0.{index // 250}.{index % 250 + 2}"


def measure(path: str) -> Iterator[int | None]:
    """Sum the bytes on disk below `path`: yields None while busy, at last the sum.

    What vanishes meanwhile, or lies deeper than a path may be long, is not counted.
    """
    total = seen = 0
    waiting = [path]
    while waiting:
        try:
            entries = os.scandir(waiting.pop())
        except OSError:
            continue
        with entries:
            for entry in entries:
                total += _blocks(entry)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                seen += 1
                if seen % _SLICE == 0:
                    yield None
    yield total


def _blocks(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_blocks * 512
    except OSError:
        return 0


def remove(path: str, seconds: float = math.inf) -> bool:
    """Delete a directory tree that a job has filled; no process may write in it any more.

    Whatever the depth (nested directories are moved up, never recursed into), whatever the modes,
    and never through a symbolic link. Others may be deleting the same. False if something is left, as after
    `seconds`: call again. OSError if it cannot be deleted.
    """
    until = time.monotonic() + seconds
    while (top := _opened(path)) is not None:
        try:
            if not _emptied(top, until):
                return False
        finally:
            os.close(top)
        with _together():
            os.rmdir(path)
    return True


def _opened(path: str) -> int | None:
    """The directory, which the job may have closed to all; None if there is none (any more)."""
    try:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            os.unlink(path)
            return None
        os.chmod(path, 0o700)
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None


def _emptied(top: int, until: float) -> bool:
    while names := _names(top):
        for name in names:
            with _together():
                if not _remove_entry(top, name, until):
                    return False
    return True


@contextlib.contextmanager
def _together() -> Iterator[None]:
    """Where others delete too: what they took is gone, and what they moved up is met there."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTEMPTY):
            raise


def _names(top: int) -> list[str]:
    try:
        return os.listdir(top)
    except FileNotFoundError:  # removed meanwhile
        return []


def _remove_entry(top: int, name: str, until: float) -> bool:
    if not stat.S_ISDIR(os.lstat(name, dir_fd=top).st_mode):
        os.unlink(name, dir_fd=top)
        return time.monotonic() < until
    os.chmod(name, 0o700, dir_fd=top)
    here = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=top)
    try:
        for child in os.listdir(here):
            if time.monotonic() >= until:
                return False
            if stat.S_ISDIR(os.lstat(child, dir_fd=here).st_mode):
                os.chmod(child, 0o700, dir_fd=here)
                os.rename(child, os.urandom(16).hex(), src_dir_fd=here, dst_dir_fd=top)
            else:
                os.unlink(child, dir_fd=here)
    finally:
        os.close(here)
    os.rmdir(name, dir_fd=top)
    return True


def new_layer(rank_path: str, of_check: bool = False) -> str:
    """A path for the layer of a command, or of the check before it; nothing is there yet."""
    return os.path.join(rank_path, layout.SCRATCH + ("check." if of_check else "") + os.urandom(4).hex())


def is_of_command(name: str) -> bool:
    """Whether a file of a Worker's directory is the layer of its command, and not hidden."""
    return _OF_COMMAND.fullmatch(name) is not None


def stays(path: str) -> bool:
    """Whether the layer is kept when its Worker ends: that is asked for, and the command ran in it."""
    rank_path, name = os.path.split(path)
    asked = os.path.lexists(os.path.join(os.path.dirname(rank_path), layout.KEEP))
    return is_of_command(name) and asked and os.path.lexists(os.path.join(rank_path, layout.STARTED))


def hide_layers(rank_path: str) -> list[str]:
    """Rename every layer of a Worker that does not stay; the paths that are to be removed."""
    doomed = []
    for name in os.listdir(rank_path):
        path = os.path.join(rank_path, name)
        if name.startswith(layout.SCRATCH) and not stays(path):
            if not name.endswith(_GONE):
                with contextlib.suppress(OSError):
                    os.rename(path, path + _GONE)
                path += _GONE
            doomed.append(path)
    return doomed


def remove_layers(rank_path: str) -> None:
    """Remove what a killed supervisor left behind."""
    for path in hide_layers(rank_path):
        remove(path)
