"""Scripts that are looked for in the working directory, which is empty when a job starts. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from jobs.command.paths import public_variables
from jobs.command.places import within
from jobs.command.reading import Reading, reading
from jobs.command.scripts import relative_path, script_of
from jobs.command.simple import Command, names
from jobs.command.words import Word
from jobs.facts import Facts
from jobs.findings import Finding, Level
from jobs.spec import JobSpec

WORKSPACE = "/workspace"
HOST_IMAGE = "host"
_SCRIPTS = (".py", ".sh")
_GOES_ELSEWHERE = names("-C --chdir --cwd --directory --project")
_INSTALLS = names("pip pip3")
# Programs that put no script into the working directory, and do not leave it
_HARMLESS = names(
    "echo printf export set ulimit unset sleep date hostname nvidia-smi true : env printenv trap ls free df "
    "which nproc uname whoami id pwd mkdir"
)
_ACTIVATES = ("activate", "conda.sh", ".bashrc", ".profile", "setvars.sh")


def workspace_findings(spec: JobSpec, facts: Facts) -> Iterator[Finding]:
    """The first script that cannot be there yet; an image may bring a working directory that is not empty."""
    read = reading(spec.command, public_variables(spec.env))
    if read is None or read.broken:
        return
    word = _looked_for(read)
    path = relative_path(word) if word is not None else ""
    if word is None or not path or path in {relative_path(other) for other in read.others}:
        return
    whole = posixpath.normpath(posixpath.join(WORKSPACE, path))
    mounts = [posixpath.normpath(mount.mount_path) for mount in spec.mounts]
    if not within(whole, WORKSPACE) or any(within(whole, mount) for mount in mounts):
        return
    sure = facts.image is not None and facts.image.reference == HOST_IMAGE
    data = {"path": path, "folder": f"{mounts[0].rstrip('/')}/…" if mounts else "/…", "line": word.line}
    level = Level.WARNING if sure else Level.HINT
    yield Finding("script_in_workspace", "command", level, data, leans_on="mounts")


def _looked_for(read: Reading) -> Word | None:
    """The script of the first command that is more than a preparation, if it surely runs and has one."""
    for command in read.commands:
        word = script_of(command)
        if word is not None and relative_path(word).endswith(_SCRIPTS):
            return word if command.certain and not _elsewhere(command) else None
        if not _harmless(command):
            return None
    return None


def _elsewhere(command: Command) -> bool:
    return any(word.value.partition("=")[0] in _GOES_ELSEWHERE for word in command.wrapping)


def _harmless(command: Command) -> bool:
    """Whether nothing can be in the working directory afterwards that is worth to be run."""
    if any(r.writes and not r.target.value.startswith("/dev/") for r in command.redirects):
        return False
    if command.program in ("source", "."):
        return bool(command.words) and command.words[0].value.endswith(_ACTIVATES)
    if command.program in _INSTALLS:
        return bool(command.words) and command.words[0].value == "install"
    return command.program in _HARMLESS
