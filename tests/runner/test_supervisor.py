import os
import re
import signal
import time

import pytest

from console.runner.config import Refusal
from console.runner.supervisor import Backoff, Stopped
from tests.runner.conftest import is_alive, number_in, wait_for


def ticking(supervisor, condition):
    """A condition that keeps the supervisor at work while it is waited for."""

    def check():
        supervisor.tick()
        return condition()

    return check


def test_a_killed_child_is_started_again(supervisor, shell, said):
    supervisor.add(shell("web", "exec sleep 60"))
    first = supervisor.pids()["web"]
    os.kill(first, signal.SIGKILL)
    wait_for(ticking(supervisor, lambda: supervisor.pids().get("web") not in (None, first)))
    assert any("web: ended (SIGKILL), again in 0.05 s" in line for line in said)


def test_the_wait_doubles_up_to_its_longest(supervisor, shell, said):
    supervisor.add(shell("web", "echo no database; exit 3"))
    wait_for(ticking(supervisor, lambda: sum("ended" in line for line in said) >= 5))
    waits = [
        float(found[1]) for line in said if (found := re.search(r"exit code 3\), again in ([\d.]+) s", line))
    ]
    assert waits[:5] == [0.05, 0.1, 0.2, 0.2, 0.2]
    assert sum("no database" in line for line in said) == 1, "the log is quoted once in a row of failures"


def test_a_steady_life_makes_the_next_wait_short_again(supervisor, shell, said):
    supervisor.backoff = Backoff(first=0.05, longest=10.0, steady=0.2)
    supervisor.add(shell("web", "sleep 0.3; exit 1"))
    wait_for(ticking(supervisor, lambda: sum("ended" in line for line in said) >= 3))
    assert all("again in 0.05 s" in line for line in said if "ended" in line)


def test_what_a_dead_child_forked_is_ended_with_it(supervisor, shell, tmp_path):
    supervisor.add(shell("web", "sleep 60 & echo $! > grandchild; wait"))
    grandchild = number_in(tmp_path / "grandchild")
    os.kill(supervisor.pids()["web"], signal.SIGKILL)
    wait_for(ticking(supervisor, lambda: not is_alive(grandchild)))


def test_stop_ends_children_and_grandchildren(supervisor, shell, tmp_path):
    supervisor.add(shell("redis", "exec sleep 60"))
    supervisor.add(shell("web", "sleep 60 & echo $! > grandchild; wait"))
    pids = [*supervisor.pids().values(), number_in(tmp_path / "grandchild")]
    supervisor.stop()
    assert not any(is_alive(pid) for pid in pids)
    assert supervisor.pids() == {}


def test_a_detached_grandchild_goes_on(supervisor, shell, tmp_path):
    supervisor.add(shell("worker", "setsid sh -c 'echo $$ > detached; exec sleep 60' & wait"))
    detached = number_in(tmp_path / "detached")
    try:
        supervisor.stop()
        assert is_alive(detached)
    finally:
        os.kill(detached, signal.SIGKILL)


def test_the_first_child_ends_last(supervisor, shell, tmp_path):
    supervisor.add(
        shell("redis", "trap 'echo redis >> order; exit' TERM; touch up1; while :; do sleep 0.02; done")
    )
    supervisor.add(
        shell(
            "web", "trap 'sleep 0.2; echo web >> order; exit' TERM; touch up2; while :; do sleep 0.02; done"
        )
    )
    wait_for(lambda: (tmp_path / "up1").exists() and (tmp_path / "up2").exists())
    supervisor.stop()
    assert (tmp_path / "order").read_text().split() == ["web", "redis"]


def test_a_child_deaf_to_term_is_killed(supervisor, shell, said, tmp_path):
    supervisor.add(shell("web", "trap '' TERM; touch up; while :; do sleep 0.05; done"))
    wait_for((tmp_path / "up").exists)
    pid = supervisor.pids()["web"]
    supervisor.stop(patience=0.2)
    assert not is_alive(pid)
    assert "web: did not end in time, killed" in said


def test_asking_twice_to_stop_waits_for_nobody(supervisor, shell, tmp_path):
    supervisor.add(shell("web", "trap '' TERM; touch up; while :; do sleep 0.05; done"))
    wait_for((tmp_path / "up").exists)
    supervisor.ask_to_stop()
    with pytest.raises(Stopped):
        supervisor.tick()
    supervisor.ask_to_stop()
    started = time.monotonic()
    supervisor.stop(patience=60)
    assert time.monotonic() - started < 30


def test_a_step_that_fails_shows_the_end_of_its_output(supervisor, shell):
    with pytest.raises(Refusal, match=r"migrate failed \(exit code 2\)(.|\n)*no such table"):
        supervisor.run(shell("migrate", "echo no such table; exit 2"))


def test_others_are_kept_alive_during_a_step(supervisor, shell, said):
    supervisor.add(shell("redis", "exec sleep 60"))
    os.kill(supervisor.pids()["redis"], signal.SIGKILL)
    supervisor.run(shell("migrate", "sleep 0.6"))
    assert sum("redis: started" in line for line in said) == 2
