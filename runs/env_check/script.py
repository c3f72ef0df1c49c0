"""The bash program around `program`, and the variables by which it is told what to look at. Pure but for
reading the files of the two programs, once."""

from __future__ import annotations

import json
from pathlib import Path

from engines.base import Check
from runs.env_check.values import Asked

_PREFIX = "TRAINYARD_CHECK_"
_SPARE = 0.8  # of its time the program waits for its neighbours: then there is time left to say so
_PROGRAM = Path(__file__).with_name("program.py").read_text("utf-8")
_COLLECTIVE = Path(__file__).with_name("collective.py").read_text("utf-8")

SCRIPT = f"""
python=$(command -v python3 || command -v python)
if [ -z "$python" ]; then
  echo '{{"item": "no_python"}}'
else
  "$python" -I - <<'TRAINYARD_CHECK_PROGRAM'
{_PROGRAM}
TRAINYARD_CHECK_PROGRAM
  status=$?
  if [ "$status" != 0 ]; then echo; echo '{{"item": "program_broke", "status": '"$status"'}}'; fi
fi
echo TRAINYARD-CHECK-END
"""


def check_of(asked: Asked, port: int | None) -> Check:
    """What the engine runs in each Worker. `port` is free on the machine where they meet."""
    told = {
        "SECONDS": str(asked.seconds * _SPARE),
        "PORT": str(port or ""),
        "MOUNTS": json.dumps(asked.mounts),
        "COLLECTIVE": _COLLECTIVE,
    }
    return Check(SCRIPT, {_PREFIX + name: value for name, value in told.items()}, asked.seconds)
