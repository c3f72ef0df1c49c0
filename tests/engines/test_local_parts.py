"""The small parts that a running Worker rarely shows: locks, the layer's removal, links, the mount rules."""

from __future__ import annotations

import errno
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from engines.local import durable, layout, links, load, lock, sandbox, scratch
from engines.local.box import may_be_shown
from engines.local.engine import LocalEngine, Means
from engines.local.plan import House, Refused

NOBODY = 65534


def test_a_lock_is_seen_without_being_taken(tmp_path):
    path = str(tmp_path / "lock")
    assert not lock.is_held(path)
    first, second = lock.open_lock(path), lock.open_lock(path)
    assert not lock.is_held(path)
    assert lock.try_lock(first)
    assert lock.is_held(path)
    assert not lock.try_lock(second)
    copy = os.dup(first)
    os.close(first)
    assert lock.is_held(path)
    os.close(copy)
    assert not lock.is_held(path)
    assert lock.try_lock(second)
    os.close(second)


def test_remove_whatever_a_job_left(tmp_path):
    """Depth beyond any path length, no rights, links out of the tree."""
    top, kept = tmp_path / "top", tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("stays")
    top.mkdir()
    (top / "link").symlink_to(kept)
    (top / "closed").mkdir()
    (top / "closed" / "inner").mkdir()
    (top / "closed").chmod(0)
    home = os.getcwd()
    os.chdir(top)
    try:
        for _ in range(700):
            os.mkdir("deeper")
            os.chdir("deeper")
    finally:
        os.chdir(home)
    assert scratch.remove(str(top))
    assert not top.exists()
    assert (kept / "file").read_text() == "stays"


@pytest.fixture
def of_nobody():
    """A folder of an ordinary user, to whom that of the tests is closed; nothing is closed to root."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        if not os.getuid():
            os.chown(folder, NOBODY, NOBODY)
        yield folder


def as_nobody(work):
    """What a child that is not root exits with: 1 where `work` is true, else 0; 2 after an OSError."""
    child = os.fork()
    if child == 0:
        try:
            if not os.getuid():
                os.setuid(NOBODY)
            os._exit(bool(work()))
        except OSError:
            os._exit(2)
        finally:
            os._exit(3)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_remove_what_a_job_closed_to_all(of_nobody):
    top = f"{of_nobody}/top"

    def closed_and_removed():
        os.makedirs(f"{top}/a/b")
        os.chmod(top, 0)
        return scratch.remove(top)

    assert as_nobody(closed_and_removed) == 1
    assert not os.path.lexists(top)


def test_what_cannot_be_removed_is_not_taken_for_removed(of_nobody):
    top = f"{of_nobody}/top"

    def held():
        os.makedirs(top)
        os.chmod(of_nobody, 0o500)
        return scratch.remove(top)

    assert as_nobody(held) == 2
    assert os.path.isdir(top)


def test_remove_a_link_in_its_place(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "top").symlink_to(tmp_path / "kept")
    assert scratch.remove(str(tmp_path / "top"))
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_remove_in_parts(tmp_path):
    (tmp_path / "top" / "a" / "b").mkdir(parents=True)
    assert not scratch.remove(str(tmp_path / "top"), 0)
    assert scratch.remove(str(tmp_path / "top"))
    assert scratch.remove(str(tmp_path / "top"))


def test_remove_beside_others(tmp_path):
    """A keeper, a stop and a forget may delete the same layer at once."""
    for number in range(120):
        (tmp_path / "top" / str(number % 7) / str(number % 31) / str(number)).mkdir(parents=True)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(scratch.remove, [str(tmp_path / "top")] * 4)) == [True] * 4
    assert not (tmp_path / "top").exists()


def test_measure(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "f").write_bytes(b"x" * 100_000)
    (tmp_path / "l").symlink_to("/usr")
    *_, total = scratch.measure(str(tmp_path))
    assert 100_000 <= total < 200_000


def test_links_are_shared_and_go_with_the_last(tmp_path):
    register, source = str(tmp_path / "links"), str(tmp_path / "source")
    target = str(tmp_path / "new" / "place")
    os.mkdir(source)
    first = links.hold(register, source, target)
    second = links.hold(register, source, target)
    with pytest.raises(Refused):
        links.hold(register, str(tmp_path), target)
    links.release(register, tuple(first))
    assert os.path.realpath(target) == source
    links.release(register, tuple(second))
    assert not os.path.lexists(tmp_path / "new")


def test_a_link_of_a_killed_user_is_taken_over(tmp_path):
    register, target = str(tmp_path / "links"), str(tmp_path / "place")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        held = links.hold(register, str(tmp_path / name), target)
        assert os.readlink(target) == str(tmp_path / name)
        for fd in held:
            os.close(fd)  # as the kernel does for a killed process


def test_what_others_made_stays(tmp_path):
    register, source, target = str(tmp_path / "links"), tmp_path / "source", tmp_path / "place"
    source.mkdir()
    target.mkdir()
    with pytest.raises(Refused):
        links.hold(register, str(source), str(target))
    target.rmdir()
    target.symlink_to(source)
    links.release(register, tuple(links.hold(register, str(source), str(target))))
    assert target.is_symlink()


@pytest.mark.parametrize(
    ("source", "shown"),
    [("/data/volumes/a", True), ("/data", False), ("/data/secrets", False), ("/", False), ("/mnt/x", True),
     ("/database", True), ("/data/volumesX", False)],
)  # fmt: skip
def test_the_consoles_own_is_never_shown(source, shown):
    house = House("none", "", "/data", ("/data/volumes",), (), "")
    assert may_be_shown(source, house) is shown


def test_a_demanded_sandbox_that_is_missing_is_told(tmp_path):
    engine = LocalEngine(tmp_path / "runs", "bubblewrap", means=Means(bwrap=tmp_path / "nothing"))
    told = engine.protection()
    assert (told.mode, told.safe) == ("unavailable", False)
    assert "bubblewrap" in told.reason
    with pytest.raises(ValueError, match="SANDBOX"):
        sandbox.choose("docker")


def refusing(number):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    return refuse


@pytest.mark.parametrize("is_there", [False, True])
def test_a_load_that_cannot_be_told_harms_nobody(tmp_path, monkeypatch, is_there):
    if is_there:
        (tmp_path / layout.BUSY).write_text("")
    meter = load.LoadMeter(str(tmp_path), os.getpid(), 0)
    monkeypatch.setattr(durable, "overwrite", refusing(errno.ENOSPC))
    meter.check(1.0)
    meter.check(100.0)
    assert load.busy_at(str(tmp_path)) is None  # a time that stands still would look like idleness


def test_a_load_that_cannot_be_measured_is_measured_the_next_time(tmp_path, monkeypatch):
    meter = load.LoadMeter(str(tmp_path), os.getpid(), 0)
    with monkeypatch.context() as now:
        now.setattr(load.tree, "cpu_seconds", refusing(errno.EMFILE))
        meter.check(1.0)
    assert load.busy_at(str(tmp_path)) is None
    meter.check(2.0)
    assert load.busy_at(str(tmp_path)) is not None
