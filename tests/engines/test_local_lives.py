"""Who may die, and what is left then: the caller, the launcher, the supervisor, its keeper."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engines.base import AttemptKey, Launch, NotKept, Phase, WorkerLaunch
from engines.local import logs
from engines.local.engine import LocalEngine
from tests.engines import launch_once
from tests.engines.stand import ENDED, nap, processes, wait_until

PACKAGES = str(Path(__file__).parents[2])


def supervisor_of(stand, key) -> tuple[int, int]:
    """(supervisor, keeper): the keeper is forked from the supervisor and looks like it."""
    found = processes("engines.local.supervisor", f"{stand.runs}/{key.job}/1/0")
    parents = {pid: int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in found}
    return next((parents[pid], pid) for pid in found if parents[pid] in found)


def layers(stand, key) -> list[str]:
    return [path.name for path in (stand.runs / key.job / "1" / "0").glob("scratch.*")]


def test_killed_supervisor_takes_everything_along(stand):
    mine = nap()
    launch = stand.launch(f"setsid sleep {mine} & sleep {mine} & echo up; sleep {mine}", env={"A": "1"})
    stand.engine.start(launch)
    key = launch.key
    stand.running(key, "up")
    os.kill(supervisor_of(stand, key)[0], signal.SIGKILL)
    wait_until(lambda: stand.look(key).phase is Phase.LOST, "lost", 5)
    wait_until(lambda: not processes("sleep", mine), "no process left", 5)
    wait_until(lambda: not layers(stand, key), "no layer left", 5)
    assert stand.look(key).fault.code == "supervisor_lost"
    assert stand.engine.read_log(key, 0, 0, 99).complete
    stand.engine.start(launch)
    assert stand.look(key).phase is Phase.LOST
    assert not processes("sleep", mine)


@pytest.mark.parametrize("whom", [(0,), (1,), (0, 1)], ids=["supervisor", "keeper", "both"])
def test_what_is_to_be_kept_outlives_them(stand, whom):
    mine = nap()
    key = stand.start(f"echo kept > $TMPDIR/a; echo up; sleep {mine}", keep=True)
    stand.running(key, "up")
    both = supervisor_of(stand, key)
    for one in whom:
        os.kill(both[one], signal.SIGKILL)
    stand.end(key)
    stand.engine.stop(key, 0)
    wait_until(lambda: not processes("sleep", mine), "no process left", 5)
    assert stand.engine.kept_bytes(key, 0, b"tmp/a", 0, 9).data == b"kept\n"
    wait_until(lambda: stand.engine.drop(key) and not layers(stand, key), "no layer left", 5)
    with pytest.raises(NotKept):
        stand.engine.kept_folder(key, 0, b"", 0, 9)


def test_killed_keeper_ends_the_worker(stand):
    mine = nap()
    key = stand.start(f"setsid sleep {mine} & echo up; sleep {mine}")
    stand.running(key, "up")
    os.kill(supervisor_of(stand, key)[1], signal.SIGKILL)
    look = stand.end(key)
    assert (look.phase, look.exit_code, look.signal) == (Phase.EXITED, None, 9)
    assert not processes("sleep", mine)


def test_both_killed_leave_nothing_after_a_stop(bare):
    """Without a namespace the left-overs of two dead guards are found by their mark."""
    mine = nap()
    key = bare.start(f"setsid sleep {mine} & echo up; sleep {mine}")
    bare.running(key, "up")
    for pid in supervisor_of(bare, key):
        os.kill(pid, signal.SIGSTOP)
    for pid in supervisor_of(bare, key):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: bare.look(key).phase is Phase.LOST, "lost")
    bare.engine.stop(key, 0)
    wait_until(lambda: not processes("sleep", mine), "no process left", 5)
    wait_until(lambda: not layers(bare, key), "no layer left", 5)


def freeze_guards(stand, key) -> tuple[int, ...]:
    for pid in (found := supervisor_of(stand, key)):
        os.kill(pid, signal.SIGSTOP)
    return found


def test_frozen_guards_do_not_hold_off_a_stop(stand):
    """Two jobs: the other one, frozen too but not stopped, is left alone."""
    mine, other = nap(), nap()
    engine = LocalEngine(stand.runs, stand.mode)
    engine.patience_s = 1.5
    command = "trap '' TERM; env -i setsid sleep {0} & echo up; sleep {0}; sleep {0}"
    key, spared = stand.start(command.format(mine)), stand.start(command.format(other))
    frozen = []
    for each, time_ in ((key, mine), (spared, other)):
        stand.running(each, "up")
        wait_until(lambda time_=time_: len(processes("sleep", time_)) >= 2, "two sleeps")
        frozen += freeze_guards(stand, each)
    engine.stop(key, 0.5)
    time.sleep(1)
    engine.stop(key, 0.5)
    assert stand.look(key).phase is Phase.RUNNING, "patience is not over"
    time.sleep(1.2)
    engine.stop(key, 0.5)
    look = stand.end(key)
    assert (look.phase, look.stopped) == (Phase.LOST, True)
    assert not processes("sleep", mine)
    assert not processes(f"{stand.runs}/{key.job}/1/0")
    engine.stop(key, 0.5)
    wait_until(lambda: not layers(stand, key), "no layer left", 5)
    engine.stop(spared, 60)
    assert stand.look(spared).phase is Phase.RUNNING
    assert len(processes("sleep", other)) >= 2
    for pid in frozen[2:]:
        os.kill(pid, signal.SIGCONT)


def test_a_frozen_keeper_whose_supervisor_was_killed_leaves_nothing_after_a_stop(stand):
    mine = nap()
    key = stand.start(f"env -i setsid sleep {mine} & echo up; sleep {mine}")
    stand.running(key, "up")
    wait_until(lambda: len(processes("sleep", mine)) >= 2, "two sleeps")
    os.kill(freeze_guards(stand, key)[0], signal.SIGKILL)
    wait_until(lambda: stand.look(key).phase is Phase.LOST, "lost")
    stand.engine.stop(key, 0)
    wait_until(lambda: not processes("sleep", mine), "no process left", 5)
    wait_until(lambda: not processes(f"{stand.runs}/{key.job}/1/0"), "no guard left", 5)


def test_who_only_names_a_rank_is_no_guard_of_it(bare):
    """An editor, a console that looks at the lock: neither is killed."""
    key = bare.start("trap '' TERM; echo up; sleep 60")
    bare.running(key, "up")
    place = f"{bare.runs}/{key.job}/1/0"
    reader = subprocess.Popen(
        ["/bin/sh", "-c", f"exec 3<{place}/lock; read x", "sh", place], stdin=subprocess.PIPE
    )
    freeze_guards(bare, key)
    engine = LocalEngine(bare.runs, bare.mode)
    engine.patience_s = 0
    engine.stop(key, 0)
    time.sleep(0.1)
    engine.stop(key, 0)
    assert bare.end(key).phase is Phase.LOST
    assert reader.poll() is None
    reader.communicate(b"\n")


def launcher(stand, job: str, command: str, **told) -> subprocess.Popen:
    told = {
        "packages": PACKAGES, "root": str(stand.runs), "mode": stand.mode, "job": job, "command": command,
        "wait": False, **told,
    }  # fmt: skip
    command = [sys.executable, launch_once.__file__, json.dumps(told)]
    scratch = {"TMPDIR": str(stand.data)}  # a killed launcher may leave the folder of its sandbox trial
    return subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **scratch})


def test_worker_outlives_its_caller(stand):
    job = f"jo-{os.getpid():08d}caller00"
    key = AttemptKey(job, 1)
    stand.keys.append(key)
    caller = launcher(stand, job, "for i in $(seq 100); do echo $i; sleep 0.003; done", wait=True)
    stand_log = lambda: stand.engine.look([key])[key] and stand.log(key)  # noqa: E731
    wait_until(lambda: "\n20\n" in (stand_log() or ""), "some lines")
    caller.kill()
    caller.communicate()
    assert stand.end(key).exit_code == 0
    assert stand.log(key) == "".join(f"{n}\n" for n in range(1, 101))


@pytest.mark.parametrize("rounds", [4, pytest.param(80, marks=pytest.mark.slow)])
def test_killed_launcher_leaves_nothing_or_a_living_worker(boxed, rounds):
    """At whatever moment the launcher is killed: the next start makes it run, and run once."""
    chance = random.Random(rounds)
    mounts = [(str(boxed.volume), "/mnt/data", False)]
    for number in range(rounds):
        job = f"jo-{os.getpid():08d}kill{rounds:02d}{number:02d}"
        key = AttemptKey(job, 1)
        boxed.keys.append(key)
        command = f"echo ran >> /mnt/data/{job}"
        process = launcher(boxed, job, command, mounts=mounts, private={"P": "x" * 100_000})
        process.stdout.readline()
        time.sleep(chance.uniform(0, 0.2))
        process.kill()
        process.communicate()
        worker = WorkerLaunch(0, "w", (), {}, 2**20)
        again = Launch(key, command, "host", (boxed.mount("/mnt/data"),), (worker,), {"P": "x"})

        def ended(key=key, again=again) -> bool:
            boxed.engine.start(again)
            return boxed.look(key).phase in ENDED

        wait_until(ended, "end")
        assert boxed.look(key).phase is Phase.EXITED
        assert boxed.look(key).exit_code == 0
        assert (boxed.volume / job).read_text() == "ran\n"


def test_private_values_show_nowhere(stand):
    secret = f"private-{nap()}"
    mine = nap()
    key = stand.start(f'echo "${{#P}}"; sleep {mine} & wait', private={"P": secret})
    stand.running(key, f"{len(secret)}\n")
    lines = [Path("/proc", pid, "cmdline") for pid in os.listdir("/proc") if pid.isdecimal()]
    guards = [Path(f"/proc/{pid}/environ") for pid in supervisor_of(stand, key)]
    files = [path for path in stand.data.rglob("*") if path.is_file() and not path.is_symlink()]
    for path in (*lines, *guards, *files):
        try:
            content = path.read_bytes()
        except OSError:
            continue
        assert secret.encode() not in content, path
    assert [path.read_bytes() for path in guards] == [b"", b""]


def test_files_are_private(boxed):
    key = boxed.start("echo up; sleep 60")
    boxed.running(key, "up")
    place = boxed.runs / key.job / "1" / "0"
    for path in (boxed.runs, boxed.runs / key.job, place.parent, place):
        assert path.stat().st_mode & 0o777 == 0o700
    for name in ("lock", "log", "started", "../launch.json", "supervisor.log"):
        assert (place / name).stat().st_mode & 0o777 == 0o600
    assert (place / "supervisor.log").read_text() == ""


def test_log_tells_when(boxed):
    key = boxed.start("echo first; sleep 1.2; echo second")
    look = boxed.end(key)
    times = logs.read_times(str(boxed.runs), (key.job, "1", "0"))
    assert [offset for offset, _ in times] == [0, 6]
    assert look.started_at <= times[0][1] <= times[1][1] - 1 <= look.ended_at


def test_log_that_is_a_link_is_not_followed(bare):
    key = bare.start("echo up; sleep 60")
    bare.running(key, "up")
    log = bare.runs / key.job / "1" / "0" / "log"
    log.unlink()
    log.symlink_to("/etc/passwd")
    assert bare.engine.read_log(key, 0, 0, 100).data == b""


def test_stop_before_the_command_runs(boxed):
    """However early the stop comes, the Worker ends or never begins."""
    for delay in (0, 0.01, 0.03, 0.06):
        key = boxed.start("sleep 60")
        time.sleep(delay)
        boxed.engine.stop(key, 0)
        assert boxed.end(key).stopped
