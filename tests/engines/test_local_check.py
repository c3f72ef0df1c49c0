"""The check before the command, in each mode of the local engine."""

import os
import time

import pytest

from engines.base import Check, Mount, Phase
from engines.local import checking, durable, layout
from engines.local.engine import LocalEngine
from engines.local.guards import end as end_guards
from tests.engines.stand import nap, processes, wait_until

END = "\necho TRAINYARD-CHECK-END"


def check(script, seconds=30.0, **env):
    return Check(script + END, env, seconds)


def checked(stand, key, rank=0):
    wait_until(lambda: stand.look(key, rank).check is not None, f"check of {key}/{rank}")
    return stand.look(key, rank)


def test_commands_wait_for_leave_after_the_check(stand):
    told = check(
        'echo "$MINE $GIVEN $TRAINYARD_CHECK_RANK $TRAINYARD_CHECK_GPUS $TRAINYARD_CHECK_ADDRESSES"',
        MINE="m",
    )
    key = stand.start("echo ran", workers=2, injected={"GIVEN": "i"}, check=told)
    looks = [checked(stand, key, rank) for rank in (0, 1)]
    assert [look.check.text for look in looks] == [f"m i {rank} 1 127.0.0.2,127.0.0.3\n" for rank in (0, 1)]
    assert {(look.check.outcome, look.phase, look.step) for look in looks} == {
        ("done", Phase.STARTING, "env_check")
    }
    time.sleep(0.3)
    assert all(stand.look(key, rank).started_at is None for rank in (0, 1))
    stand.engine.release(key)
    stand.engine.release(key)
    ends = [stand.end(key, rank) for rank in (0, 1)]
    assert [(end.exit_code, stand.log(key, end.rank)) for end in ends] == [(0, "ran\n")] * 2
    assert ends[0].started_at >= looks[0].check.ended_at
    assert dict(ends[0].steps)["env_check"] <= looks[0].check.began_at + 1


def test_nothing_of_the_check_is_left(stand):
    mine = nap()
    told = check(f"echo x > /tmp/left; sleep {mine} & setsid sleep {mine} & echo ok")
    key = stand.start("ls /tmp/left; exit 0", check=told)
    assert checked(stand, key).check.text == "ok\n"
    assert not processes(f"sleep {mine}")
    stand.engine.release(key)
    assert stand.end(key).exit_code == 0
    if stand.mode != "none":
        assert "No such file" in stand.log(key)
    else:
        os.unlink("/tmp/left")


def test_a_check_that_takes_too_long_is_ended(stand):
    mine = nap()
    key = stand.start("echo ran", check=check(f"echo begun; trap '' TERM; sleep {mine}", 0.5))
    look = checked(stand, key)
    assert (look.check.outcome, look.check.text) == ("timed_out", "begun\n")
    assert not processes(f"sleep {mine}")
    stand.engine.stop(key, 0)
    end = stand.end(key)
    assert (end.started_at, end.exit_code, end.stopped, stand.log(key)) == (None, None, True, "")


def test_a_check_that_kills_its_box_broke_off(boxed):
    told = check("echo x; kill -9 -1; sleep 5")
    key = boxed.start("echo ran", check=told)
    assert checked(boxed, key).check.outcome in ("broke_off", "timed_out")


def test_a_stop_ends_the_check(stand):
    mine = nap()
    key = stand.start("echo ran", check=check(f"sleep {mine}"))
    wait_until(lambda: processes(f"sleep {mine}"), "the check runs")
    stand.engine.stop(key, 30)
    end = stand.end(key)
    assert (end.stopped, end.started_at, end.check) == (True, None, None)
    assert not processes(f"sleep {mine}")
    stand.engine.release(key)
    stand.engine.start(stand.launch("echo ran"))


def test_a_stop_wins_over_the_leave_to_go_on(stand):
    key = stand.start("echo ran", check=check("echo ok"))
    checked(stand, key)
    stand.engine.stop(key, 0)
    stand.engine.release(key)
    assert stand.log(key) == ""
    assert stand.end(key).started_at is None


def test_mounts_are_there_and_variables_of_the_job_cannot_change_the_check(stand):
    target = "/mnt/t-check"
    (stand.volume / "evil").write_text("echo evil; exit 0")
    env = {"BASH_ENV": f"{target}/evil", "PATH": "/nowhere", "LD_PRELOAD": "/nowhere.so", "V": "x\n$(id) 汉"}
    told = check(
        f"ls {target}; env | grep -c -e ^LD_PRELOAD -e ^BASH_ENV -e SECRET;"
        ' echo $TRAINYARD_CHECK_OF_COMMAND_PATH; echo "$TRAINYARD_CHECK_OF_COMMAND_V"'
    )
    mounts = [Mount(str(stand.volume), target)]
    key = stand.start("true", env=env, private={"SECRET": "s"}, mounts=mounts, check=told)
    assert checked(stand, key).check.text == "evil\n0\n/nowhere\nx\n$(id) 汉\n"


def test_a_killed_supervisor_starts_again_and_does_not_check_twice(stand):
    launch = stand.launch("echo ran", check=check("date +%s%N"))
    stand.engine.start(launch)
    first = checked(stand, launch.key).check
    end_guards(str(stand.runs / launch.key.job / "1" / "0"))
    wait_until(lambda: stand.look(launch.key).phase is Phase.ABSENT, "the supervisor is gone")
    stand.engine.start(launch)
    assert checked(stand, launch.key).check == first
    stand.engine.release(launch.key)
    assert stand.end(launch.key).exit_code == 0
    assert stand.log(launch.key) == "ran\n"


def test_another_process_of_the_console_goes_on(stand):
    key = stand.start("echo ran", check=check("echo ok"))
    other = LocalEngine(stand.runs, stand.mode)
    wait_until(lambda: other.look([key])[key][0].check is not None, "check")
    other.release(key)
    assert stand.end(key).exit_code == 0


def test_leave_that_comes_together_with_a_stop_is_none(tmp_path, monkeypatch):
    """The stop may fall between the last look for one and the leave."""
    rank_path = tmp_path / "1" / "0"
    rank_path.mkdir(parents=True)
    durable.write_json(str(rank_path / layout.CHECK), {"began": 1, "ended": 2, "outcome": "done", "text": ""})
    asked = iter([False, True, True])
    monkeypatch.setattr(checking.tombstone, "stands", lambda path: next(asked))
    monkeypatch.setattr(
        checking.time, "sleep", lambda seconds: (tmp_path / "1" / layout.RELEASE).write_text("")
    )
    assert checking.allowed(None, None, str(rank_path), None) is False


@pytest.mark.parametrize("at", ["NaN", "1" + "0" * 400, '"x"', "[]"])
def test_a_document_with_no_proper_times_is_read(tmp_path, at):
    told = f'{{"began": {at}, "ended": 2, "outcome": "done", "text": ""}}'
    (tmp_path / layout.CHECK).write_text(told)
    assert checking.read(str(tmp_path)).outcome in ("done", "broke_off")
