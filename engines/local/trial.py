"""What the last trial of the sandbox gave, kept below the root so that other processes need none.

It holds as long as what decided on it is the same: the boot, the kernel's switches, the user, the setting
and the programs that are there. Not everything that decides can be seen (a security profile cannot), so
anything less than bubblewrap holds for a minute only: the machine may be mended meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any

from engines.local import durable, layout
from engines.local.sandbox import MODES, Choice, tools

_SWITCHES = (
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
)
_BOOT = "/proc/sys/kernel/random/boot_id"
_DOUBTED_S = 60.0


def circumstances(wanted: str, bwrap: str | None) -> dict[str, Any]:
    """What the outcome of a trial depends on."""
    switches = [_first_line(path) for path in (_BOOT, *_SWITCHES)]
    return {"wanted": wanted, "tools": tools(bwrap), "user": os.getuid(), "switches": switches}


def recall(root: str, now: dict[str, Any]) -> Choice | None:
    """What a process found under the same circumstances; None if none did."""
    try:
        note = durable.read_json(os.path.join(root, layout.PROTECTION)) or {}
    except durable.Unreadable:
        return None
    found, at = _choice(note.get("found")), note.get("at")
    if found is None or note.get("circumstances") != now or type(at) is not float:
        return None
    return found if found.mode == "bubblewrap" or 0 <= time.time() - at < _DOUBTED_S else None


def note_down(root: str, now: dict[str, Any], found: Choice) -> None:
    """Tell the others. Where nothing can be written, each tries for itself."""
    with contextlib.suppress(OSError):
        with contextlib.suppress(FileExistsError):
            os.mkdir(root, 0o700)
        path = os.path.join(root, layout.PROTECTION)
        durable.write_json(path, {"circumstances": now, "found": list(found), "at": time.time()})


def _choice(words: Any) -> Choice | None:
    if not isinstance(words, list) or len(words) != len(Choice._fields):
        return None
    proper = all(isinstance(word, str) for word in words) and words[0] in ("", *MODES[1:])
    return Choice(*words) if proper else None


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.readline().strip()
    except OSError:  # not every kernel has each
        return ""
