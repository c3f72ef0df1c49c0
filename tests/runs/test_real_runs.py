"""What a request says about running, with real processes: its ticks are called one after the other, and
nothing but database and files is kept between them, so each look is one after a restart of everything."""

import pytest

from jobs.models import Job
from pools.models import Hold
from runs import watching
from runs.models import StackCapture
from tests.runs.real_runs import PATIENCE_S, Runs

pytestmark = pytest.mark.django_db


@pytest.fixture
def runs(tmp_path, monkeypatch):
    made = Runs(tmp_path / "runs")
    monkeypatch.setattr(watching, "engine_of", made.engine)
    yield made
    made.close()


def test_the_maximum_running_time_stops_whoever_does_not_listen(runs):
    command = "trap 'echo caught' TERM; echo up; while true; do sleep 0.05; done"
    job = runs.make(command, max_runtime_minutes=1, stop_grace_seconds=0)
    Job.objects.update(max_runtime_seconds=1)
    runs.ended(job)
    assert (job.state, job.reason) == ("stopped", {"code": "max_runtime", "data": {"minutes": 0}})
    assert 1 <= (job.ended_at - job.started_at).total_seconds() < PATIENCE_S
    assert runs.codes(job) == ["created", "deploying", "running", "stop_requested", "stopped"]
    assert not Hold.objects.exists()


def test_who_saves_within_the_grace_time_is_let_finish(runs):
    command = "trap 'echo saved; exit 0' TERM; echo up; while true; do sleep 0.05; done"
    job = runs.make(command, max_runtime_minutes=1, stop_grace_seconds=30)
    Job.objects.update(max_runtime_seconds=1)
    runs.ended(job)
    assert job.state == "stopped"
    assert runs.log(job).endswith("saved\n")


def test_a_command_that_fails_twice_and_then_works(runs, settings):
    settings.RESTART_PAUSE_SECONDS = 0.05
    command = 'echo "attempt $TRAINYARD_ATTEMPT"; [ "$TRAINYARD_ATTEMPT" = 3 ]'
    job = runs.ended(runs.make(command, auto_restart=True, max_restarts=5))
    assert (job.state, job.exit_code, job.attempt, job.restarts) == ("succeeded", 0, 3, 2)
    assert [runs.log(job, attempt) for attempt in (1, 2, 3)] == [f"attempt {n}\n" for n in (1, 2, 3)]
    assert runs.codes(job).count("restarted") == 2
    assert not Hold.objects.exists()


def test_a_command_that_always_fails_ends_as_failed(runs, settings):
    settings.RESTART_PAUSE_SECONDS = 0.05
    job = runs.ended(runs.make("kill -9 $$", auto_restart=True, max_restarts=1))
    assert (job.state, job.attempt, job.reason["code"]) == ("failed", 2, "signal")
    assert job.events.last().data["restarts_used_up"] == 1


def test_a_command_that_falls_silent_is_restarted(runs, settings):
    settings.RESTART_PAUSE_SECONDS = 0.05
    command = 'echo "attempt $TRAINYARD_ATTEMPT"; [ "$TRAINYARD_ATTEMPT" = 2 ] || sleep 300'
    asked = {"auto_restart": True, "hang_detection": True, "stop_grace_seconds": 0}
    job = runs.make(command, **asked)
    Job.objects.update(hang_seconds=1)
    runs.ended(job)
    assert (job.state, job.attempt, job.restarts) == ("succeeded", 2, 1)
    told = [code for code in runs.codes(job) if code in ("hang_suspected", "hang", "restarted")]
    assert told == ["hang_suspected", "hang", "restarted"]


def test_a_command_that_goes_on_writing_never_hangs(runs):
    command = "for i in $(seq 30); do echo $i; sleep 0.1; done"
    job = runs.make(command, hang_detection=True, hang_action="fail")
    Job.objects.update(hang_seconds=2)
    assert runs.ended(job).state == "succeeded"
    assert "hang_suspected" not in runs.codes(job)


def test_where_a_hang_stood_is_kept(runs):
    code = "import time\ndef waits_for_nobody():\n    time.sleep(300)\nwaits_for_nobody()"
    asked = {"hang_detection": True, "hang_action": "fail", "stop_grace_seconds": 0}
    job = runs.make(f"exec python3 -c '{code}'", **asked)
    Job.objects.update(hang_seconds=1)
    runs.ended(job)
    assert (job.state, job.reason["code"]) == ("failed", "hung")
    (capture,) = StackCapture.objects.all()
    assert (capture.automatic, capture.state) == (True, "done")
    (process,) = capture.result["workers"][0]["processes"]
    names = [frame["name"] for frame in process["threads"][0]["frames"]]
    assert names[0] == "waits_for_nobody"
    assert process["program"].endswith(" -c")
