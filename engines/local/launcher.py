"""Starting a supervisor: a new program with an empty environment, its private values by pipe."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from engines.base import EngineError

_PACKAGES = str(Path(__file__).resolve().parents[2])
_PROGRAM = (
    f"import sys; sys.path.insert(0, {_PACKAGES!r}); "
    "from engines.local.supervisor import main; main(sys.argv[1])"
)
PROGRAM_NAME = b"from engines.local.supervisor import main"  # in the command line of every supervisor
_ANSWERS = {"started", "busy", "over"}
_TIMEOUT_S = 30.0
_KILLED_S = 5.0


def launch_supervisor(rank_path: str, private: Mapping[str, str]) -> str:
    """Start the supervisor of one Worker and wait until it stands on its own feet.

    Returns `started`, or `busy` if another one lives, or `over` if the Worker ran or may not run any
    more. If this process dies on the way, either nothing starts or a supervisor goes on without it.
    """
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _PROGRAM, rank_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={},
        cwd="/",
        start_new_session=True,
    )
    try:
        out, err = process.communicate(json.dumps(dict(private)).encode("ascii"), _TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        _kill_group(process)
        raise EngineError("the supervisor did not answer in time") from error
    answer = out.decode("ascii", "replace")
    if answer not in _ANSWERS:
        lines = err.decode("utf-8", "replace").strip().splitlines() or [f"status {process.returncode}"]
        raise EngineError(f"the supervisor did not start: {lines[-1][:300]}")
    return answer


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the program and what it forked, which has the same pipes; what cannot die is left behind."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=_KILLED_S)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            pipe.close()
