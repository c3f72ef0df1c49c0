"""What every engine promises of logs, and of what it tells by them. See `contract`."""

from __future__ import annotations

import time

import pytest

from engines.base import AttemptKey, EngineError, Phase
from tests.engines.stand import wait_until


class LogContract:
    """See the module."""

    def test_log_parts(self, stand):
        key = stand.start("printf 0123456789")
        stand.end(key)
        read = stand.engine.read_log
        assert read(key, 0, 0, 4).data == b"0123"
        assert read(key, 0, 4, 100).data == b"456789"
        assert (read(key, 0, -3, 100).data, read(key, 0, -3, 100).offset) == (b"789", 7)
        assert (read(key, 0, -99, 2).data, read(key, 0, 99, 2).data) == (b"01", b"")
        chunk = read(key, 0, 10, 100)
        assert (chunk.data, chunk.size, chunk.complete, chunk.cut_bytes) == (b"", 10, True, 0)

    def test_log_grows_while_running(self, stand):
        key = stand.start("echo first; echo second >&2; sleep 60")
        stand.running(key, "second")
        chunk = stand.engine.read_log(key, 0, 0, 100)
        assert (chunk.data, chunk.complete) == (b"first\nsecond\n", False)

    def test_the_time_of_the_last_output(self, stand):
        waits = "while [ ! -e /mnt/t-heard/go ]; do sleep 0.05; done"
        key = stand.start(f"{waits}; echo more; sleep 60", mounts=[stand.mount("/mnt/t-heard")])
        wait_until(lambda: stand.look(key).phase is Phase.RUNNING, "it runs")
        before = stand.look(key)
        assert before.output_at == before.started_at
        (stand.volume / "go").touch()
        stand.running(key, "more")
        assert before.output_at < stand.look(key).output_at <= time.time()

    def test_output_that_is_thrown_away_is_output(self, stand):
        key = stand.start("echo 0123456789; while true; do echo x; sleep 0.1; done", log_bytes=5)
        stand.running(key, "01234")
        first = stand.look(key).output_at
        wait_until(lambda: stand.look(key).output_at > first + 1, "later output is told of")

    def test_the_time_at_which_it_was_busy(self, stand):
        """Children count that have ended meanwhile, and those in other sessions; waiting does not."""
        burn = "python3 -c 'import time; [None for _ in iter(time.process_time, 0) if _ > .3 and exit()]'"
        go = "while [ ! -e /mnt/t-busy/go ]; do sleep 1; done"
        key = stand.start(f"{go}; setsid {burn}; echo burnt; sleep 60", mounts=[stand.mount("/mnt/t-busy")])
        wait_until(lambda: stand.look(key).busy_at, "it is told")
        first = stand.look(key).busy_at
        assert first >= stand.look(key).started_at - 0.05  # a coarser clock
        (stand.volume / "go").touch()
        stand.running(key, "burnt")
        burnt = time.time()
        wait_until(lambda: stand.look(key).busy_at > first, "it was busy")
        assert stand.look(key).busy_at <= burnt + 6

    def test_any_bytes_pass(self, stand):
        assert stand.run(r"printf '\x00\xff\xe6\xb1\r\n'").exit_code == 0
        assert stand.engine.read_log(stand.keys[-1], 0, 0, 99).data == b"\x00\xff\xe6\xb1\r\n"

    def test_log_limit(self, stand):
        look = stand.run("head -c 3000000 /dev/zero | tr '\\0' x; echo end", log_bytes=100_000)
        chunk = stand.engine.read_log(stand.keys[-1], 0, 0, 10**7)
        assert (look.exit_code, chunk.size, len(chunk.data)) == (0, 100_000, 100_000)
        assert chunk.cut_bytes == 3_000_004 - 100_000

    @pytest.mark.parametrize(
        "job",
        [
            "../../etc",
            "jo-../../../etc/pass",
            "/etc/passwd",
            "jo-ABC",
            "",
            "jo-x\0",
            "pc-x",
            "xx-0123456789abcdef",
        ],
    )
    def test_names_are_no_paths(self, stand, job):
        with pytest.raises(EngineError):
            stand.engine.read_log(AttemptKey(job, 1), 0, 0, 10)
        with pytest.raises(EngineError):
            stand.engine.stop(AttemptKey(job, 1), 0)

    @pytest.mark.parametrize("rank", [-1, 10**6, "0"])
    def test_ranks_are_no_paths(self, stand, rank):
        with pytest.raises(EngineError):
            stand.engine.read_log(AttemptKey("jo-0123456789abcdef", 1), rank, 0, 10)
