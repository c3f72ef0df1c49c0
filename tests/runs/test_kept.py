"""Files of a failed run: kept and let go of. Real processes; only the clock of the rows is set, and each tick
begins with nothing but database and files."""

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from unittest import mock

import pytest
from django.utils import timezone

from engines.base import AttemptKey, EngineError
from engines.local.engine import LocalEngine
from jobs.models import Attempt, Job
from jobs.scheduling import queue_tick
from jobs.services import job_stop
from pools.models import Hold
from runs import dropping
from storage.space import Space
from tests.factories import make_job
from tests.runs.kept_runs import WRITES, listing

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


class TestKeeping:
    """For whom files are kept, how long, and that nothing else waits for that."""

    def test_after_a_failure_for_so_many_minutes(self, runs, failed):
        attempt = runs.attempt(failed)
        left = attempt.kept_until - timezone.now()
        assert timedelta(minutes=29) < left <= timedelta(minutes=30)
        assert not Hold.objects.exists()
        runs.drop()
        assert runs.held(failed)

    @pytest.mark.parametrize("command", ["exit 0", "kill -9 $$", "exit 1"])
    def test_without_it_nothing_is_kept(self, runs, command):
        job = runs.ended_of(WRITES + command, keep_after_failure_minutes=0)
        assert (runs.attempt(job).files_held, runs.attempt(job).kept_until) == (False, None)
        assert not runs.held(job)

    def test_not_after_a_success(self, runs):
        job = runs.ended_of(WRITES + "exit 0")
        assert (job.state, runs.attempt(job).kept_until) == ("succeeded", None)
        runs.drop()
        assert not runs.held(job)
        assert not runs.attempt(job).files_held

    def test_not_after_a_stop(self, runs):
        job = make_job(runs.user, runs.pool, command="echo a > a; sleep 300", keep_after_failure_minutes=9)
        runs.until(job, lambda job: job.state == "running")
        Job.objects.filter(pk=job.pk).update(request=job.request | {"stop_grace_seconds": 0})
        job_stop(job=job, actor=runs.user)
        runs.until(job, lambda job: job.finished)
        assert (job.state, runs.attempt(job).kept_until) == ("stopped", None)
        runs.drop()
        assert not runs.held(job)

    def test_of_a_restarted_job_only_the_last_run(self, runs, settings):
        settings.RESTART_PAUSE_SECONDS = 0.05
        job = runs.ended_of('echo "$TRAINYARD_ATTEMPT" > a; exit 1', auto_restart=True, max_restarts=1)
        assert (job.state, job.attempt) == ("failed", 2)
        runs.drop()
        assert not runs.held(job, 1)
        assert runs.engine().kept_bytes(AttemptKey(job.key, 2), 0, b"workspace/a", 0, 9).data == b"2\n"

    def test_whose_command_never_ran_leaves_nothing(self, runs):
        job = make_job(runs.user, runs.pool, command="true", keep_after_failure_minutes=9)
        queue_tick()
        frozen = Job.objects.get().frozen
        Job.objects.update(frozen=frozen | {"image": frozen["image"] | {"reference": "none:1"}})
        runs.until(job, lambda job: job.finished)
        assert (job.state, runs.attempt(job).kept_until) == ("failed", None)
        runs.drop()
        assert not runs.held(job)

    def test_of_all_workers(self, runs):
        gate = runs.folder.parent / "gate"
        waits = f"until [ -e {gate} ]; do sleep 0.05; done; exit 7"
        command = f'echo "$RANK" > a; [ "$RANK" = 0 ] || {{ {waits}; }}; touch {gate}; sleep 300'
        job = runs.ended_of(command, framework="pytorch_ddp", worker_count=2)
        assert (job.state, job.exit_code) == ("failed", 7)
        read = [
            runs.engine().kept_bytes(AttemptKey(job.key, 1), n, b"workspace/a", 0, 9).data for n in (0, 1)
        ]
        assert read == [b"0\n", b"1\n"]

    def test_jobs_that_end_alike_are_kept_too(self, runs):
        jobs = [
            make_job(runs.user, runs.pool, command="echo a > a; exit 4", keep_after_failure_minutes=5)
            for _ in range(3)
        ]
        for job in jobs:
            runs.until(job, lambda job: job.finished)
        assert [runs.attempt(job).kept_until is not None for job in jobs] == [True] * 3
        assert all(runs.held(job) for job in jobs)


class TestDropping:
    def test_when_the_time_is_over(self, runs, failed):
        Attempt.objects.update(kept_until=timezone.now() - HOUR)
        dropping.drop_due()
        assert not runs.held(failed)
        assert not runs.attempt(failed).files_held
        assert runs.engine().read_log(AttemptKey(failed.key, 1), 0, 0, 9).complete
        dropping.drop_due()

    def test_who_is_killed_in_between_does_it_again(self, runs, failed):
        Attempt.objects.update(kept_until=timezone.now())
        (found,) = dropping.due()
        with mock.patch.object(Attempt.objects, "filter", side_effect=KeyError), pytest.raises(KeyError):
            dropping._drop(found)
        assert not runs.held(failed)
        assert runs.attempt(failed).files_held
        dropping.drop_due()
        assert not runs.attempt(failed).files_held

    def test_killed_at_any_moment_the_next_one_ends_it(self, runs):
        """A process that drops is killed again and again; at last nothing is left, and the log is."""
        job = runs.ended_of(
            "mkdir many; cd many; for i in $(seq 40); do mkdir $i; touch $i/{1..200}; done; false"
        )
        program = (
            "import sys; from pathlib import Path; from engines.base import AttemptKey; "
            "from engines.local.engine import LocalEngine; engine = LocalEngine(Path(sys.argv[1]), 'none'); "
            "print('go', flush=True); engine.drop(AttemptKey(sys.argv[2], 1))"
        )
        for pause in (0, 0.002, 0.01, 0.03):
            words = [sys.executable, "-c", program, str(runs.folder), job.key]
            with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
                process.stdout.readline()
                time.sleep(pause)
                os.kill(process.pid, signal.SIGKILL)
        Attempt.objects.update(kept_until=timezone.now())
        runs.drop()
        assert not list(runs.folder.glob("*/1/0/scratch.*"))
        assert (runs.folder / job.key / "1" / "0" / "log").exists()

    def test_trouble_with_one_does_not_keep_the_others(self, runs, monkeypatch):
        first, second = (runs.ended_of("exit 1") for _ in range(2))
        Attempt.objects.update(kept_until=timezone.now())
        engine = runs.engine()
        real = engine.drop

        def drop(key):
            if key.job == first.key:
                raise EngineError("no")
            return real(key)

        engine.drop = drop
        monkeypatch.setattr(dropping, "engine_of", lambda kind: engine)
        dropping.drop_due()
        assert (runs.attempt(first).files_held, runs.attempt(second).files_held) == (True, False)

    def test_trouble_is_told_once_a_minute(self, runs, monkeypatch, caplog):
        runs.ended_of("exit 1")
        Attempt.objects.update(kept_until=timezone.now())
        monkeypatch.setattr(dropping, "_warned", {})
        with mock.patch.object(LocalEngine, "drop", side_effect=EngineError("it is busy")):
            for _ in range(3):
                dropping.drop_due()
            assert caplog.messages == ["it is busy"]
            monkeypatch.setattr(dropping, "_warned", {"again": time.monotonic()})  # a minute later
            dropping.drop_due()
        assert caplog.messages == ["it is busy"] * 2

    def test_what_takes_longer_is_done_in_parts(self, runs, failed, monkeypatch):
        Attempt.objects.update(kept_until=timezone.now())
        monkeypatch.setattr("engines.local.engine._DROP_S", 0.0)
        dropping.drop_due()
        assert runs.attempt(failed).files_held
        assert not runs.held(failed)
        monkeypatch.undo()
        monkeypatch.setattr(dropping, "engine_of", runs.engine)
        runs.drop()
        assert not list(runs.folder.glob("*/1/0/scratch.*"))


class TestRoom:
    """Short of room, what would go first goes before its time; see KEPT_FREE_PERCENT."""

    @pytest.fixture
    def three(self, runs):
        """Failed jobs, from the one whose files would go first."""
        jobs = [runs.ended_of(WRITES + "exit 1", keep_after_failure_minutes=n) for n in (20, 30, 10)]
        return [jobs[2], jobs[0], jobs[1]]

    def test_one_after_another_until_there_is_enough(self, runs, three, settings):
        settings.KEPT_FREE_PERCENT = 101  # never enough
        for gone in (1, 2):
            dropping.drop_due()
            assert [runs.held(job) for job in three] == [False] * gone + [True] * (3 - gone)
            assert [runs.attempt(job).files_held for job in three] == [False] * gone + [True] * (3 - gone)
        settings.KEPT_FREE_PERCENT = 0
        dropping.drop_due()
        assert runs.held(three[2])
        told = [[event.actor for event in job.events.filter(code="files_gave_room")] for job in three]
        assert told == [[None], [None], []]

    def test_the_page_and_rest_say_so(self, api, client, runs, failed, settings):
        settings.KEPT_FREE_PERCENT = 101
        dropping.drop_due()
        client.force_login(runs.user)
        gone = client.get(f"/jobs/{failed.key}/workers/0/files/")
        assert (gone.status_code, "no longer kept: room was needed." in gone.content.decode()) == (410, True)
        assert "removed: room was needed" in client.get(f"/jobs/{failed.key}/").content.decode()
        (error,) = api(runs.user).get(listing(failed)).json()["errors"]
        assert error["code"] == "files_no_longer_kept"
        assert error["detail"] == "The files of this run are no longer kept: room was needed."

    def test_what_is_being_removed_makes_room_too(self, runs, three, settings, monkeypatch):
        settings.KEPT_FREE_PERCENT = 101
        with monkeypatch.context() as slow:
            slow.setattr("engines.local.engine._DROP_S", 0.0)
            for _ in range(3):
                dropping.drop_due()
        assert [runs.attempt(job).kept_until <= timezone.now() for job in three] == [True, False, False]

    @pytest.mark.parametrize(("used", "short"), [(0, False), (90, False), (91, True), (100, True)])
    def test_how_much_is_too_little(self, settings, monkeypatch, used, short):
        settings.KEPT_FREE_PERCENT = 10
        monkeypatch.setattr(dropping, "space_ask", lambda folder: Space(used=used, free=100 - used))
        assert dropping.room_is_short() is short
