"""The processes that guard a Worker when something goes wrong around them."""

from __future__ import annotations

import os
import time

import pytest

from engines.base import EngineError
from engines.local import keeper, launcher
from engines.local.box import Box
from tests.engines.stand import nap, processes, wait_until


def test_supervisor_that_does_not_answer_is_ended_with_its_children(tmp_path, monkeypatch):
    """The forked half keeps the pipes open: neither it nor the wait for its end may stay."""
    mine = nap()
    monkeypatch.setattr(launcher, "_TIMEOUT_S", 0.5)
    program = f"import os, time\nif os.fork(): os._exit(0)\ntime.sleep({mine})"
    monkeypatch.setattr(launcher, "_PROGRAM", program)
    before = time.monotonic()
    with pytest.raises(EngineError, match="in time"):
        launcher.launch_supervisor(str(tmp_path), {})
    assert time.monotonic() - before < 10
    wait_until(lambda: not processes(mine), "nothing left", 5)


def test_keeper_without_a_listener_still_ends_the_tree(tmp_path):
    """The box ends, and nobody is there any more to be told so."""
    mine = nap()
    layer = tmp_path / "layer"
    layer.mkdir()
    box = Box(["/bin/bash", "-c", f"setsid sleep {mine} & echo up"], {}, "/", helpers=0)
    kept = keeper.start(box, str(layer))
    os.close(kept.status)
    wait_until(lambda: processes("sleep", mine), "a child of the box")
    time.sleep(0.2)  # the box itself has ended
    os.close(kept.life)
    wait_until(lambda: not processes("sleep", mine), "nothing left", 5)
    assert os.waitstatus_to_exitcode(os.waitpid(kept.pid, 0)[1]) == 0
    assert not layer.exists()
    for fd in (kept.output, kept.report, kept.control, kept.echo, kept.complaints):
        os.close(fd)
