"""What follows from a look at the Workers of an attempt."""

import pytest

from engines.base import Fault, Phase, WorkerLook
from jobs.findings import Reason
from jobs.states import State
from runs.stages import Broken, Deployment
from runs.verdict import FAIL_FAST_GRACE_S, HangRule, Standing, judge, restart_pause


def absent(rank):
    return WorkerLook(rank, Phase.ABSENT)


def starting(rank, step="storage"):
    return WorkerLook(rank, Phase.STARTING, step=step)


def running(rank):
    return WorkerLook(rank, Phase.RUNNING, started_at=1.0)


def exited(rank, code=0, at=10.0, **kwargs):
    return WorkerLook(rank, Phase.EXITED, exit_code=code, started_at=1.0, ended_at=at, **kwargs)


def killed(rank, signal=9, at=10.0, **kwargs):
    return WorkerLook(rank, Phase.EXITED, signal=signal, started_at=1.0, ended_at=at, **kwargs)


def lost(rank):
    return WorkerLook(rank, Phase.LOST, started_at=1.0)


def verdict(*looks, stop_at=None, expected=None, first=None, **more):
    given = {"now": 100.0, "stop_grace_s": 30, "stop_requested_at": stop_at, "first_failed": first} | more
    return judge(Standing(looks=looks, expected=expected or len(looks), **given))


def test_what_is_absent_is_started():
    assert verdict(expected=2).start
    assert verdict(starting(0), absent(1)).start
    assert not verdict(starting(0), starting(1)).start


def test_a_gang_runs_when_all_its_workers_run():
    assert not verdict(running(0), starting(1)).running
    assert verdict(running(0), running(1)).running
    assert verdict(exited(0), running(1)).running


def test_the_step_of_the_slowest_is_shown():
    assert verdict(running(0), starting(1, "initialize")).step == "initialize"


def test_all_zero_is_success():
    end = verdict(exited(0), exited(1))
    assert (end.end, end.exit_code) == (State.SUCCEEDED, 0)


def test_the_first_failure_ends_the_others_and_is_named():
    now = verdict(running(0), exited(1, 3), running(2))
    assert now.stop == FAIL_FAST_GRACE_S
    assert now.first_failure == {"rank": 1, "exit_code": 3, "signal": None}
    assert now.end is None
    end = verdict(killed(0, 15, stopped=True), exited(1, 3), exited(2, 0, stopped=True))
    assert end.end == State.FAILED
    assert end.reason.code == "exit_code"
    assert end.reason.data == {"rank": 1, "workers": 3, "exit_code": 3}


def test_the_earliest_failure_counts_whatever_its_rank():
    end = verdict(exited(0, 1, at=12.0), exited(1, 7, at=11.0))
    assert end.first_failure["rank"] == 1
    assert end.exit_code == 7


def test_a_signal_is_told_as_a_signal():
    end = verdict(killed(0, 9))
    assert (end.reason.code, end.reason.data, end.exit_code) == (
        "signal",
        {"rank": 0, "workers": 1, "signal": 9},
        None,
    )


def test_a_fault_of_the_start_is_told():
    fault = Fault("mount_missing", {"path": "/mnt/x"})
    end = verdict(WorkerLook(0, Phase.EXITED, fault=fault, ended_at=1.0))
    assert end.reason.code == "mount_missing"
    assert end.reason.data == {"path": "/mnt/x", "rank": 0, "workers": 1}


def test_a_lost_worker_fails_the_job_and_is_never_started_again():
    now = verdict(lost(0), running(1))
    assert now.stop == FAIL_FAST_GRACE_S
    assert not now.start
    assert verdict(lost(0), killed(1, stopped=True)).reason.code == "worker_lost"


def test_after_a_failure_nothing_more_is_started():
    now = verdict(exited(0, 1), absent(1), running(2))
    assert not now.start
    assert verdict(exited(0, 1), absent(1)).end == State.FAILED


@pytest.mark.parametrize("code", [0, 1, 143])
def test_stop_ends_as_stopped_whatever_the_exit_code(code):
    now = verdict(running(0), stop_at=5.0)
    assert now.stop == 30
    assert verdict(exited(0, code, at=6.0, stopped=True), stop_at=5.0).end == State.STOPPED
    assert verdict(exited(0, code, at=6.0), stop_at=5.0).end == State.STOPPED


def test_an_exit_before_the_request_wins():
    assert verdict(exited(0, 0, at=4.0), stop_at=5.0).end == State.SUCCEEDED
    assert verdict(exited(0, 2, at=4.0), stop_at=5.0).end == State.FAILED


def test_a_worker_lost_while_stopping_is_stopped():
    assert verdict(lost(0), stop_at=5.0).end == State.STOPPED


def test_a_failure_with_a_time_is_before_a_loss_without():
    assert verdict(lost(0), exited(1, 3)).reason.code == "exit_code"


def test_the_loss_that_was_seen_first_stays_the_first():
    assert verdict(lost(0), exited(1, 3), first=0).reason.code == "worker_lost"


def test_stop_before_anything_was_started():
    end = verdict(expected=2, stop_at=5.0)
    assert end.end == State.STOPPED
    assert not end.start


def test_stop_waits_until_all_are_gone():
    assert verdict(exited(0, 143, at=6.0, stopped=True), running(1), stop_at=5.0).end is None


LIMIT = {"started_at": 1.0, "max_runtime_s": 60}


def test_before_its_maximum_running_time_a_job_runs_on():
    assert verdict(running(0), now=60.9, **LIMIT).stop is None
    assert verdict(starting(0), absent(1), now=1e9, max_runtime_s=60).stop is None


def test_the_maximum_running_time_ends_as_a_stop_does():
    now = verdict(running(0), exited(1), now=61.0, **LIMIT)
    assert (now.stop, now.cut.reason.data) == (30, {"minutes": 1})
    assert (now.end, now.start) == (None, False)


@pytest.mark.parametrize(
    ("looks", "asked", "end", "reason"),
    [
        ([exited(0, 143, at=62.0, stopped=True)], None, "stopped", "max_runtime"),
        ([killed(0, 15, at=62.0, stopped=True)], 61.5, "stopped", "max_runtime"),
        ([exited(0, 0, at=62.0, stopped=True)], 61.5, "stopped", "max_runtime"),
        ([lost(0)], 61.5, "stopped", "max_runtime"),
        # an exit before the limit wins
        ([exited(0, 3, at=60.5), killed(1, 15, at=63.0, stopped=True)], None, "failed", "exit_code"),
        ([exited(0, 0, at=60.5), exited(1, 0, at=60.9)], None, "succeeded", None),
        # nobody looked in time, and it ended by itself
        ([exited(0, 0, at=90.0)], None, "succeeded", None),
        ([exited(0, 3, at=90.0)], None, "failed", "exit_code"),
        ([lost(0)], None, "failed", "worker_lost"),
        # what was asked for first is the reason
        ([killed(0, 15, at=62.0, stopped=True)], 40.0, "stopped", "stopped_by_user"),
        ([killed(0, 15, at=95.0, stopped=True)], 90.0, "stopped", "max_runtime"),
    ],
)
def test_what_an_end_around_the_maximum_running_time_is(looks, asked, end, reason):
    said = verdict(*looks, stop_at=asked, **LIMIT)
    assert (said.end, said.reason and said.reason.code) == (State(end), reason)


def test_a_failure_just_before_the_maximum_running_time_stays_one():
    now = verdict(running(0), exited(1, 3, at=60.0), now=62.0, **LIMIT)
    assert (now.stop, now.cut) == (FAIL_FAST_GRACE_S, None)
    end = verdict(killed(0, 15, at=63.0, stopped=True), exited(1, 3, at=60.0), now=64.0, **LIMIT)
    assert (end.end, end.restartable) == (State.FAILED, True)


def faulty(code):
    return WorkerLook(0, Phase.EXITED, fault=Fault(code), ended_at=1.0)


@pytest.mark.parametrize(
    ("look", "asked", "restartable"),
    [
        (exited(0, 1), None, True),
        (killed(0, 9), None, True),
        (lost(0), None, True),
        (faulty("disk_full"), None, True),
        (faulty("out_of_memory"), None, True),
        (faulty("mount_missing"), None, False),
        (faulty("mount_denied"), None, False),
        (faulty("image_missing"), None, False),
        (faulty("sandbox_failed"), None, False),
        (exited(0, 0), None, False),
        (exited(0, 143, stopped=True), None, False),
        (exited(0, 143, at=12.0, stopped=True), 11.0, False),
        (exited(0, 1, at=10.0), 11.0, False),
    ],
)
def test_what_another_attempt_may_do_better(look, asked, restartable):
    assert verdict(look, stop_at=asked).restartable is restartable


@pytest.mark.parametrize(("number", "seconds"), [(1, 10), (2, 20), (3, 40), (5, 160), (6, 300), (10, 300)])
def test_the_pause_before_a_restart_doubles_up_to_a_bound(number, seconds):
    assert restart_pause(number, first_s=10, longest_s=300) == seconds


def heard(rank, at, busy=None):
    return WorkerLook(rank, Phase.RUNNING, started_at=1.0, output_at=at, busy_at=busy)


def rule(action="notify", **told):
    return HangRule(seconds=30, action=action, **told)


@pytest.mark.parametrize(
    ("looks", "told", "suspected", "hung"),
    [
        ([heard(0, 70.1)], {}, None, None),
        ([heard(0, 70.0)], {}, 70.0, None),
        ([heard(0, 40.0)], {}, 40.0, 100.0),
        ([heard(0, 40.1)], {}, 40.1, None),
        # one Worker that writes is enough
        ([heard(0, 10.0), heard(1, 99.0)], {}, None, None),
        ([heard(0, 10.0), exited(1, at=80.0)], {}, None, None),
        # told once for each silence, whatever a database does to fractions
        ([heard(0, 70.0)], {"suspected": 70.0000004}, None, None),
        ([heard(0, 30.0)], {"suspected": 30.0}, None, 90.0),
        ([heard(0, 30.0)], {"suspected": 30.0, "hung": 90.0}, None, None),
        ([heard(0, 65.0)], {"suspected": 4.0, "hung": 64.0}, 65.0, None),
        # who has not begun, and an engine that does not know, say nothing
        ([heard(0, 10.0), starting(1)], {}, None, None),
        ([heard(0, 10.0), running(1)], {}, None, None),
        # idle for the time as well: it need not be twice as long
        ([heard(0, 60.0, busy=70.0)], {}, 60.0, 100.0),
        ([heard(0, 60.0, busy=70.1)], {}, 60.0, None),
        ([heard(0, 70.0, busy=10.0)], {}, 70.0, 100.0),
        ([heard(0, 71.0, busy=10.0)], {}, None, None),
        ([heard(0, 60.0, busy=70.0)], {"suspected": 60.0, "hung": 100.0}, None, None),
        ([heard(0, 45.0, busy=60.0), exited(1, at=55.0)], {}, 55.0, 90.0),
        # one that is busy is enough, as long as it is not silent for twice the time
        ([heard(0, 60.0, busy=10.0), heard(1, 60.0, busy=99.0)], {}, 60.0, None),
        ([heard(0, 39.0, busy=99.0)], {}, 39.0, 99.0),
        # an engine that does not know of one Worker knows nothing
        ([heard(0, 60.0, busy=10.0), heard(1, 60.0)], {}, 60.0, None),
    ],
)
def test_silence_is_suspect_first_and_a_hang_when_idle_or_after_twice_the_time(looks, told, suspected, hung):
    said = verdict(*looks, now=100.0, hang=rule(**told))
    assert (said.suspected, said.hung, said.stop, said.end) == (suspected, hung, None, None)


def test_without_detection_silence_means_nothing():
    assert verdict(heard(0, 1.0), now=1e9).hung is None


def test_a_hang_of_which_is_only_told_ends_nothing():
    assert verdict(heard(0, 20.0), now=100.0, hang=rule(hung=80.0)).stop is None


@pytest.mark.parametrize(("action", "restartable"), [("restart", True), ("fail", False)])
def test_a_hang_that_is_acted_on_ends_as_failed(action, restartable):
    hang = rule(action, suspected=20.0, hung=80.0)
    assert verdict(heard(0, 20.0), exited(1), now=100.0, hang=hang).stop == 30
    end = verdict(killed(0, 15, at=101.0, stopped=True), exited(1), now=102.0, hang=hang)
    assert (end.end, end.reason.code, end.reason.data) == (State.FAILED, "hung", {"seconds": 60})
    assert end.restartable is restartable


def test_a_hang_tells_how_long_it_was_silent_and_idle():
    said = verdict(heard(0, 50.0, busy=60.0), now=100.0, hang=rule())
    assert said.silence == {"seconds": 40, "idle": 30}
    assert verdict(heard(0, 30.0), now=100.0, hang=rule()).silence == {"seconds": 60}
    end = verdict(killed(0, 15, at=101.0, stopped=True), hang=rule("fail", suspected=50.0, hung=90.0))
    assert end.reason.data == {"seconds": 40, "idle": 30}


@pytest.mark.parametrize(
    ("looks", "more", "end", "reason"),
    [
        ([exited(0, 3, at=79.0), killed(1, at=82.0, stopped=True)], {}, "failed", "exit_code"),
        ([exited(0, 0, at=85.0)], {}, "succeeded", None),
        ([killed(0, at=95.0, stopped=True)], {"stop_requested_at": 90.0}, "stopped", "stopped_by_user"),
        (
            [killed(0, at=95.0, stopped=True)],
            LIMIT,
            "stopped",
            "max_runtime",
        ),
        ([killed(0, at=95.0, stopped=True)], LIMIT | {"max_runtime_s": 90}, "failed", "hung"),
    ],
)
def test_what_an_end_around_a_hang_is(looks, more, end, reason):
    said = verdict(*looks, now=100.0, hang=rule("restart", suspected=20.0, hung=80.0), **more)
    assert (said.end, said.reason and said.reason.code) == (State(end), reason)
    assert said.restartable is (reason in ("exit_code", "hung"))


BROKEN = Broken("pull_image", 90.0, Reason("deploy_timeout", {"step": "pull_image", "seconds": 60.0}))


@pytest.mark.parametrize(
    ("looks", "grace"),
    [
        ([starting(0), starting(1)], 0),
        ([starting(0), absent(1)], 0),
        ([WorkerLook(0, Phase.EXITED, stopped=True, ended_at=91.0), starting(1)], 0),
        ([running(0), starting(1)], 30),
        ([exited(0), starting(1)], 30),
        ([exited(0, 143, at=95.0, stopped=True), running(1)], 30),
    ],
)
def test_a_broken_deployment_gives_time_to_commands_that_run(looks, grace):
    now = verdict(*looks, deployment=Deployment(broken=BROKEN))
    assert (now.stop, now.end, now.start, now.cut.broken) == (grace, None, False, BROKEN)
