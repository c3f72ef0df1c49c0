"""What every engine promises, as tests. A test class of an engine derives from `EngineContract` and
gives a fixture `stand`. Only real processes."""

from __future__ import annotations

import ast
import socket
import threading
import time

import pytest

from engines.base import AttemptKey, EngineError, Launch, Phase
from tests.engines.stand import nap, processes, wait_until

STUCK = """\
import threading

gate = threading.Event()


def feeds():
    gate.wait()


def waits_for_ever():
    gate.wait()


def spins():
    while not both_wait():
        pass
    print("up")
    while True:
        pass


def both_wait():
    return len(gate._cond._waiters) == 2  # feeder and main thread


threading.Thread(target=feeds, name="feeder", daemon=True).start()
threading.Thread(target=spins, name="spinner", daemon=True).start()
waits_for_ever()
"""

SAVES = """\
import signal
import time


def save(number, frame):
    time.sleep(0.4)
    with open("checkpoint", "w") as file:
        file.write(f"saved after signal {number}")
    raise SystemExit(0)


signal.signal(signal.SIGTERM, save)
print("up")
while True:
    time.sleep(60)
"""


class EngineContract:
    """See the module."""

    # -- how it ended ------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("command", "code", "signal"),
        [
            ("true", 0, None),
            ("false; echo after", 0, None),
            ("echo last # a comment without newline", 0, None),
            ("exit 3", 3, None),
            ('python3 -c "import sys;sys.exit(255)"', 255, None),
            ("nosuchcmd", 127, None),
            ("kill -9 $$", None, 9),
            ("kill -TERM $$", None, 15),
            ("exit 137", 137, None),
            ("bash -c 'kill -9 $$'; exit $?", 137, None),
        ],
    )
    def test_end_is_told_as_it_was(self, stand, command, code, signal):
        look = stand.run(command)
        assert (look.phase, look.exit_code, look.signal, look.stopped, look.fault) == (
            Phase.EXITED, code, signal, False, None,
        )  # fmt: skip
        assert look.started_at <= look.ended_at

    def test_end_of_the_main_process_is_the_end(self, stand):
        mine = nap()
        look = stand.run(f"sleep {mine} & setsid sleep {mine} & echo done")
        assert (look.exit_code, stand.log()) == (0, "done\n")
        assert not processes(f"sleep {mine}")

    # -- the command and its variables -------------------------------------------------------------

    def test_crlf_becomes_lf(self, stand):
        assert stand.run("cd /tmp\r\npwd\r\n[ 1 = 1 ] && echo OK").exit_code == 0
        assert stand.log() == "/tmp\nOK\n"

    def test_here_document_and_lone_carriage_return(self, stand):
        assert stand.run("cat <<EOF\r\na\r\nEOF\r\nprintf 'x\ry'").exit_code == 0
        assert stand.log() == "a\nx\ry"

    def test_command_is_a_script_file(self, stand):
        assert stand.run("""python3 -c 'print("a;b", "$HOME", r"\\n")' && echo "q$((1+1))" """).exit_code == 0
        assert stand.log() == "a;b $HOME \\n\nq2\n"

    def test_long_command(self, stand):
        assert stand.run("# " + "x" * 100 + "\n" + ("# xyz\n" * 34_000) + "echo done").exit_code == 0
        assert stand.log() == "done\n"

    def test_variables_arrive_unchanged(self, stand):
        value = "$(touch /tmp/pwned) `id` $HOME 'x' \"y\" \\n \n 汉 ;"
        command = "python3 -c \"import os;print(ascii([os.environ['V'], os.environ['P']]))\""
        assert stand.run(command, env={"V": value}, private={"P": value}).exit_code == 0
        assert ast.literal_eval(stand.log()) == [value, value]

    def test_a_zero_byte_in_a_variable_runs_nothing(self, stand):
        look = stand.run("echo ran", env={"V": "x\0--bind\0/\0/mnt/t-zero"})
        assert (look.fault.code, look.started_at, stand.log()) == ("sandbox_failed", None, "")

    def test_later_variables_win(self, stand):
        env, told = {"LANG": "page", "TRAINYARD_WORKER": "page"}, {"TRAINYARD_WORKER": "0"}
        command = 'echo "$LANG $TMPDIR $PYTHONUNBUFFERED $TRAINYARD_WORKER $SHLVL"; cd ~; cd "$HOME"'
        private = {"TMPDIR": "private", "LANG": "private"}
        assert stand.run(command, env=env, injected=told, private=private).exit_code == 0
        assert stand.log() == "page private 1 0 1\n"

    def test_signals_are_not_ignored(self, stand):
        """A Python that starts the engine ignores SIGPIPE; the command must not inherit that.

        Signals 32 and 33 belong to the C library, and some makes leave them ignored.
        """
        command = "python3 -c 'import signal as s; print([s.getsignal(n) for n in (s.SIGINT, s.SIGTERM)])'\n"
        assert stand.run(command + "grep SigIgn /proc/self/status").exit_code == 0
        assert "default_int_handler" in stand.log()
        ignored = int(stand.log().split("SigIgn:")[1].split()[0], 16)
        assert ignored & (2**31 - 1) == 0

    def test_workers_know_their_host_names(self, stand):
        key = stand.start("echo $HOSTNAME", workers=3)
        looks = [stand.end(key, rank) for rank in range(3)]
        assert [look.rank for look in looks] == [0, 1, 2]
        assert [stand.log(key, rank) for rank in range(3)] == [f"{key.job}-worker-{n}\n" for n in range(3)]

    # -- starting once -----------------------------------------------------------------------------

    def test_second_start_does_nothing(self, stand, tmp_path):
        launch = stand.launch("echo once >> /mnt/t-once/log", mounts=[stand.mount("/mnt/t-once")])
        stand.engine.start(launch)
        stand.engine.start(launch)
        stand.end(launch.key)
        stand.engine.start(launch)
        assert stand.end(launch.key).exit_code == 0
        assert (stand.volume / "log").read_text() == "once\n"

    def test_concurrent_starts_run_it_once(self, stand):
        mount = stand.mount("/mnt/t-twice")
        launch = stand.launch("echo once >> /mnt/t-twice/$HOSTNAME", mounts=[mount], workers=2)
        threads = [threading.Thread(target=stand.engine.start, args=(launch,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for rank in range(2):
            assert stand.end(launch.key, rank).exit_code == 0
            assert (stand.volume / f"{launch.key.job}-worker-{rank}").read_text() == "once\n"

    def test_start_after_stop_does_nothing(self, stand):
        launch = stand.launch("echo ran")
        stand.engine.stop(launch.key, 1)
        stand.engine.start(launch)
        assert all(look.phase is Phase.ABSENT for look in stand.engine.look([launch.key])[launch.key])

    def test_unknown_attempt(self, stand):
        key = AttemptKey("jo-0123456789abcdef", 7)
        assert stand.engine.look([key]) == {key: ()}
        assert stand.engine.read_log(key, 0, 0, 10).data == b""

    # -- stopping ----------------------------------------------------------------------------------

    def test_stop_reaches_the_whole_tree(self, stand):
        mine = nap()
        command = f"""bash -c 'trap "" TERM; sleep {mine} & setsid sleep {mine} & echo up; sleep {mine}'"""
        key = stand.start(command)
        stand.running(key, "up")
        wait_until(lambda: len(processes("sleep", mine)) >= 3, "three sleeps")
        stand.engine.stop(key, 0.5)
        look = stand.end(key)
        assert look.stopped
        assert not processes("sleep", mine)

    def test_stop_lets_children_finish_in_their_time(self, stand):
        """The script ends at once by TERM; a child that saves its work still gets the grace time."""
        child = "import signal,time; signal.signal(15, lambda *_: (time.sleep(.4), print('saved'), exit()))"
        key = stand.start(f'python3 -c "{child}; print(1); time.sleep(60)"')
        stand.running(key, "1")
        stand.engine.stop(key, 20)
        look = stand.end(key)
        assert (look.stopped, look.exit_code, look.signal) == (True, None, 15)
        assert "saved" in stand.log(key)
        assert look.ended_at - look.started_at < 20

    def test_stop_reaches_python_below_nested_scripts(self, stand):
        """Each gets TERM at once; the scripts in between end, and Python still has the grace time to save."""
        (stand.volume / "a.sh").write_text("bash b.sh\necho after b\n")
        (stand.volume / "b.sh").write_text("python3 -u train.py\necho after python\n")
        (stand.volume / "train.py").write_text(SAVES)
        key = stand.start("cd /mnt/t-nested; bash a.sh; echo after a", mounts=[stand.mount("/mnt/t-nested")])
        stand.running(key, "up")
        stand.engine.stop(key, 20)
        look = stand.end(key)
        assert (look.stopped, look.exit_code, look.signal) == (True, None, 15)
        assert (stand.volume / "checkpoint").read_text() == "saved after signal 15"
        assert stand.log(key) == "up\n"
        assert look.ended_at - look.started_at < 20

    def test_stop_keeps_what_happened(self, stand):
        key = stand.start("trap 'echo bye; exit 4' TERM; echo up; sleep 60 & wait")
        stand.running(key, "up")
        stand.engine.stop(key, 20)
        look = stand.end(key)
        assert (look.exit_code, look.signal, look.stopped) == (4, None, True)
        assert stand.log(key) == "up\nbye\n"

    def test_second_stop_may_shorten_the_time(self, stand):
        key = stand.start("trap '' TERM; echo up; while true; do sleep 1; done")
        stand.running(key, "up")
        stand.engine.stop(key, 60)
        time.sleep(0.3)
        stand.engine.stop(key, 0)
        stand.engine.stop(key, 90)
        assert stand.end(key).stopped

    def test_an_exit_before_the_request_wins(self, stand):
        key = stand.start("exit 5")
        before = stand.end(key)
        stand.engine.stop(key, 1)
        assert stand.look(key) == before
        assert (before.exit_code, before.stopped) == (5, False)

    # -- stacks ------------------------------------------------------------------------------------

    def test_stacks_tell_where_python_is(self, stand):
        """Inside a shell, with threads; never what is in arguments and variables."""
        (stand.volume / "train.py").write_text(STUCK)
        command = "echo shell; python3 -u /mnt/t-stack/train.py --token=tell-nobody"
        key = stand.start(
            command, workers=2, mounts=[stand.mount("/mnt/t-stack")], private={"P": "tell-nobody"}
        )
        for rank in range(2):
            wait_until(lambda rank=rank: "up" in stand.log(key, rank), "it is up")
        told = stand.engine.stacks(key)
        if stand.mode == "proot":
            assert [one.trouble.code for one in told] == ["proot", "proot"]
            return
        assert [(one.rank, one.trouble, len(one.processes)) for one in told] == [(0, None, 1), (1, None, 1)]
        (process,) = told[0].processes
        assert process.trouble is None
        assert process.program.startswith("python3")
        assert process.program.endswith(" train.py")
        assert stand.mode != "bubblewrap" or process.pid < 100
        frames = {thread.name: [frame.name for frame in thread.frames] for thread in process.threads}
        assert "waits_for_ever" in frames["MainThread"]
        assert "feeds" in frames["feeder"]
        assert frames["spinner"][0] == "spins"
        computing = {thread.name for thread in process.threads if thread.active}
        assert computing == {"spinner"}
        (frame,) = [frame for t in process.threads for frame in t.frames if frame.name == "waits_for_ever"]
        assert frame.file.endswith("/train.py")
        assert STUCK.splitlines()[frame.line - 1].strip() == "gate.wait()"
        assert "tell-nobody" not in repr(told)
        assert [one.rank for one in stand.engine.stacks(key, 1)] == [1]
        assert stand.look(key).phase is Phase.RUNNING

    def test_stacks_say_why_there_are_none(self, stand):
        key = stand.start("echo up; sleep 60")
        stand.running(key, "up")
        told = [one.trouble.code for one in stand.engine.stacks(key)]
        assert told == ["proot" if stand.mode == "proot" else "no_python"]
        stand.engine.stop(key, 0)
        stand.end(key)
        assert [one.trouble.code for one in stand.engine.stacks(key)] == ["not_running"]
        with pytest.raises(EngineError):
            stand.engine.stacks(AttemptKey("jo-0123456789abcdef", 7))

    # -- mounts ------------------------------------------------------------------------------------

    def test_mounts(self, stand):
        (stand.volume / "有 空格").write_text("seen\n")
        target = "/mnt/t-数 据/卷"
        command = f"cat '{target}/有 空格' && echo written > '{target}/out'"
        assert stand.run(command, mounts=[stand.mount(target)]).exit_code == 0
        assert stand.log() == "seen\n"
        assert (stand.volume / "out").read_text() == "written\n"

    def test_missing_mount_is_named(self, stand):
        gone = stand.data / "volumes" / "gone"
        look = stand.run("echo ran", mounts=[stand.mount("/mnt/t-gone", source=gone)])
        assert (look.phase, look.fault.code, look.fault.data) == (
            Phase.EXITED, "mount_missing", {"path": "/mnt/t-gone"},
        )  # fmt: skip
        assert (look.exit_code, look.started_at, stand.log()) == (None, None, "")

    def test_a_mount_of_a_file_is_told_from_one_that_is_missing(self, stand):
        file = stand.data / "volumes" / "file"
        file.write_text("x")
        for source, code in ((file, "mount_no_folder"), (file / "below", "mount_missing")):
            look = stand.run("echo ran", mounts=[stand.mount("/mnt/t-file", source=source)])
            assert (look.phase, look.fault.code, look.fault.data) == (
                Phase.EXITED, code, {"path": "/mnt/t-file"},
            )  # fmt: skip

    def test_unknown_image_is_named(self, stand):
        launch = stand.launch("echo ran")
        stand.engine.start(
            Launch(launch.key, launch.command, "registry.example/x:1", (), launch.workers)
        )  # fmt: skip
        look = stand.end(launch.key)
        assert (look.fault.code, look.fault.data) == ("image_missing", {"image": "registry.example/x:1"})

    # -- the rest ----------------------------------------------------------------------------------

    def test_forget(self, stand):
        key = stand.start("sleep 60")
        with pytest.raises(EngineError):
            stand.engine.forget(key)
        stand.engine.stop(key, 0)
        stand.end(key)
        stand.engine.forget(key)
        assert stand.engine.look([key]) == {key: ()}

    def test_port_is_free(self, stand):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
            taken.listen()
            assert not stand.engine.port_is_free(port)
        assert stand.engine.port_is_free(port)
