"""Limits of memory and processor: in a folder that looks like control groups, and in real ones."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from engines.base import Check, Phase, Protection
from engines.local import cgroups
from engines.local.engine import LocalEngine, Means
from tests.engines.conftest import make_stand
from tests.engines.stand import Stand

GIB = 2**30


def tree(place, *, controllers="cpu memory pids", enabled="", procs=""):
    """A folder with the files of a control group."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "cgroup.controllers").write_text(controllers)
    (place / "cgroup.subtree_control").write_text(enabled)
    (place / "cgroup.procs").write_text(procs)
    return place


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Tells where the groups of this machine are said to be, and the console's own among them."""

    def make(own, *, root="/", version="cgroup2"):
        mounts, mine = tmp_path / "mountinfo", tmp_path / "own"
        mounts.write_text(
            f"22 1 0:20 / /proc rw - proc proc rw\n"
            f"30 1 0:26 {root} {tmp_path}/groups rw shared:4 - {version} cgroup rw\n"
        )
        mine.write_text(f"9:memory:/else\n0::{own}\n")
        monkeypatch.setattr(cgroups, "MOUNTS", str(mounts))
        monkeypatch.setattr(cgroups, "OWN", str(mine))
        return tmp_path / "groups"

    return make


def workers_of(place):
    """As the kernel would fill the new group, which here is a plain folder."""
    return tree(place / "trainyard")


@pytest.mark.parametrize(
    ("own", "root", "given", "offered"),
    [
        ("/app.service/console", "/", "app.service", "app.service"),
        ("/pod/app/console", "/pod", "app", "app"),
        ("/../elsewhere", "/", "", None),
        ("/", "/", "", None),
    ],
)
def test_auto_takes_the_group_above_the_consoles_own(machine, own, root, given, offered):
    groups = machine(own, root=root)
    tree(groups / given)
    (groups / "cgroup.events").write_text("populated 1")  # not the true root
    workers_of(groups / given)
    assert cgroups.prepare("auto") == (str(groups / offered / "trainyard") if offered else "")


@pytest.mark.parametrize(
    ("wanted", "version", "controllers"),
    [("off", "cgroup2", "memory"), ("auto", "cgroup", "memory"), ("auto", "cgroup2", "cpu pids")],
)
def test_nothing_is_taken_that_is_not_there(machine, wanted, version, controllers):
    groups = machine("/app/console", version=version)
    workers_of(tree(groups / "app", controllers=controllers))
    assert cgroups.prepare(wanted) == ""


def test_auto_moves_nobody(machine):
    groups = machine("/app/console")
    workers_of(tree(groups / "app", procs="1\n2\n"))
    cgroups.prepare("auto")
    assert not (groups / "app" / "trainyard-console").exists()


def test_a_place_that_is_named_is_emptied_first(machine, tmp_path):
    place = tree(tmp_path / "named", procs="12\n")
    workers_of(place)
    assert cgroups.prepare(str(place)) == str(place / "trainyard")
    assert (place / "trainyard-console" / "cgroup.procs").read_text() == "12"
    assert (place / "cgroup.subtree_control").read_text() == "+cpu"  # the last that was written


def test_a_place_that_cannot_be_used_is_no_place(tmp_path):
    assert cgroups.prepare(str(tmp_path / "missing")) == ""


@pytest.fixture
def limited(tmp_path):
    """The engine without a sandbox, so that a job may write what the kernel would; groups in a folder."""
    place = workers_of(tree(tmp_path / "named")).parent
    data = tmp_path / "data"
    made = Stand(LocalEngine(data / "runs", "none", means=Means(groups=str(place))), data, "none")
    yield made, place / "trainyard"
    made.close()


def launch(stand, command, check=None, **limits):
    asked = stand.launch(command, check=check)
    workers = tuple(replace(worker, **limits) for worker in asked.workers)
    asked = replace(asked, workers=workers)
    stand.engine.start(asked)
    if check is not None:
        stand.engine.release(asked.key)
    return stand.end(asked.key), asked.key


def test_a_worker_runs_in_a_group_with_its_limits(limited):
    stand, groups = limited
    assert stand.engine.protection() == Protection("none", limits=True)
    look, key = launch(stand, "true", memory_bytes=3 * GIB, cpus=2)
    group = groups / f"{key.job}.1.0"
    told = {name: (group / name).read_text() for name in ("memory.max", "memory.swap.max", "cpu.max")}
    assert told == {"memory.max": str(3 * GIB), "memory.swap.max": "0", "cpu.max": "200000 100000"}
    assert (group / "cgroup.procs").read_text() == "0"
    assert (look.exit_code, look.fault) == (0, None)


def test_without_limits_there_is_no_group(limited):
    stand, groups = limited
    _look, key = launch(stand, "true")
    assert not (groups / f"{key.job}.1.0").exists()


@pytest.mark.parametrize(
    ("events", "then", "out"),
    [
        ("low 0\nmax 7\noom 1\noom_kill 1\n", "kill -9 $$", True),
        ("oom 1\noom_kill 2\n", "exit 1", True),
        ("oom 1\noom_kill 1\n", "exit 0", False),
        ("oom 0\noom_kill 0\n", "kill -9 $$", False),
    ],
)
def test_out_of_memory_is_told_with_proof_alone(limited, events, then, out):
    stand, groups = limited
    command = f'g=({groups}/"${{HOSTNAME%-worker-0}}".1.0); printf \'{events}\' > "$g/memory.events"; {then}'
    look, _key = launch(stand, command, memory_bytes=3 * GIB)
    assert look.phase is Phase.EXITED
    assert (look.fault and (look.fault.code, look.fault.data)) == (
        ("out_of_memory", {"limit_gib": 3}) if out else None
    )
    assert (look.exit_code, look.signal) == {
        "kill -9 $$": (None, 9), "exit 1": (1, None), "exit 0": (0, None)
    }[then]  # fmt: skip


def test_the_check_runs_in_the_group_too_and_the_command_after_it(limited):
    """The keeper removes the group at the end of the check, as the check itself does here."""
    stand, groups = limited
    see = f'g=({groups}/"${{HOSTNAME%-worker-0}}".1.0); cat "$g/memory.max" "$g/cgroup.procs" > {groups}/seen'
    check = Check(f'{see}; rm -r "$g"; echo TRAINYARD-CHECK-END', {}, 30.0)
    look, key = launch(stand, "true", check, memory_bytes=3 * GIB)
    assert (look.exit_code, (groups / "seen").read_text()) == (0, f"{3 * GIB}0")
    group = groups / f"{key.job}.1.0"
    assert ((group / "memory.max").read_text(), (group / "cgroup.procs").read_text()) == (str(3 * GIB), "0")


@pytest.fixture
def group(tmp_path):
    """A folder in which the kernel's count is set."""

    def count(kills):
        (tmp_path / "memory.events").write_text(f"low 0\nmax 7\noom 1\noom_kill {kills}\n")

    count(2)  # of the check, whose group was not removed
    return tmp_path, count


@pytest.mark.parametrize(
    ("kills", "seen", "ended", "killed", "cause"),
    [
        (2, 10.0, 20.0, True, False),  # none while it ran
        (3, 10.0, 20.0, False, True),  # a moment ago
        (3, 10.0, 10.0 + 40, False, True),  # a launcher has waited for its others
        (3, 10.0, 3600.0, False, False),  # a helper, long ago: not why it failed now
        (3, 10.0, 3600.0, True, True),
        (3, None, 3600.0, False, True),  # just now: nobody had looked before
        (0, 10.0, 20.0, True, False),
    ],
)
def test_what_an_end_for_want_of_memory_is(group, kills, seen, ended, killed, cause):
    place, count = group
    meter = cgroups.OomMeter(str(place))
    meter.check(1.0)
    count(kills)
    if seen is not None:
        meter.check(seen)
        meter.check(seen + 5)
    assert meter.is_cause(ended, killed) is cause


def test_without_a_group_nothing_is_for_want_of_memory():
    meter = cgroups.OomMeter("")
    meter.check(1.0)
    assert meter.is_cause(2.0, killed=True) is False


@pytest.mark.parametrize("mode", ["bubblewrap", "none"])
def test_real_groups(tmp_path, mode):
    """Needs a machine that lends groups of version 2 with the memory controller."""
    folder = cgroups.prepare(os.environ.get("WORKER_CGROUP", "auto"))
    if not folder:
        pytest.skip("this machine lends no control groups (version 2, with limits of memory)")
    stand = make_stand(tmp_path, mode)
    stand.engine = LocalEngine(tmp_path / "data" / "runs", mode, means=Means(groups=os.path.dirname(folder)))
    try:
        hog = "python3 -c \"x = bytearray(400 << 20); print('not reached')\""
        look, _ = launch(stand, hog, memory_bytes=128 << 20)
        assert (look.fault.code, stand.log()) == ("out_of_memory", "")
        look, _ = launch(stand, "cat /proc/self/cgroup", memory_bytes=GIB, cpus=0.5)
        assert (look.exit_code, look.fault) == (0, None)
        assert not [name for name in os.listdir(folder) if name.startswith("jo-")]
    finally:
        stand.close()
