"""What may be mounted, and where: nothing that a job has planted leads a later mount anywhere."""

from __future__ import annotations

import os

import pytest

from engines.base import Phase
from engines.local import bubblewrap, keeper, scratch
from engines.local.plan import House, MountPlan, Plan


def refusal(look) -> tuple[str, str]:
    """(path, detail) of a mount that was denied before anything ran."""
    assert (look.phase, look.started_at, look.fault.code) == (Phase.EXITED, None, "mount_denied"), look
    assert set(look.fault.data) == {"path", "detail"}
    return look.fault.data["path"], look.fault.data["detail"]


@pytest.mark.parametrize("source", ["", "secrets", "runs", ".."])
def test_mounts_of_the_consoles_own_are_denied(stand, source):
    (stand.data / "secrets").mkdir()
    look = stand.run("echo ran", mounts=[stand.mount("/mnt/t-own", source=stand.data / source)])
    assert refusal(look) == ("/mnt/t-own", "its folder belongs to the console")


def test_links_on_a_volume_lead_a_nested_mount_nowhere(stand):
    """The job plants them where the next one wants to mount, as the machine looks during set-up."""
    outside = stand.data / "outside"
    outside.mkdir()
    plant = f"""
        cd /mnt/t-esc
        for up in '' ../ ../../ ../../../; do ln -sfn ${{up}}oldroot{outside} esc${{#up}}; done
        ln -sfn /oldroot{outside} t-esc; ln -sfn {outside} direct; mkdir plain
    """
    assert stand.run(plant, mounts=[stand.mount("/mnt/t-esc")]).exit_code == 0
    for name in ("esc0", "esc3", "esc6", "esc9", "direct", "direct/new", "plain", "plain/new", "t-esc"):
        mounts = [stand.mount(target) for target in ("/mnt/t-esc", f"/mnt/t-esc/{name}", "/mnt/t-z/a/b")]
        for order in (mounts, mounts[::-1]):
            path, detail = refusal(stand.run("touch /mnt/t-z/a/b/pwned", mounts=order))
            assert (path.startswith("/mnt/t-esc"), detail) == (True, "one mount lies in another")
    assert not list(outside.iterdir())
    assert sorted(path.name for path in stand.volume.iterdir()) == [
        "direct", "esc0", "esc3", "esc6", "esc9", "plain", "t-esc",
    ]  # fmt: skip


def test_a_link_in_place_of_a_volumes_folder_is_not_followed(stand):
    """A volume inside another one: who may write that one can put a link in its place."""
    outside = stand.data.parent / "outside"
    (outside / "deep").mkdir(parents=True)
    plant = f"cd /mnt/t-outer; ln -s {outside} inner; ln -s {outside} above"
    assert stand.run(plant, mounts=[stand.mount("/mnt/t-outer")]).exit_code == 0
    for source in ("inner", "above/deep", "inner/."):
        mounts = [stand.mount("/mnt/t-inner", source=stand.volume / source)]
        assert refusal(stand.run("touch /mnt/t-inner/pwned", mounts=mounts)) == (
            "/mnt/t-inner", "its folder lies behind a symbolic link",
        )  # fmt: skip
    assert [path.name for path in outside.iterdir()] == ["deep"]
    assert not list((outside / "deep").iterdir())


def test_a_folder_exchanged_after_it_was_checked_is_not_shown(boxed):
    """What was opened is mounted, whatever lies at its path by then."""
    inner, outside = boxed.volume / "inner", boxed.data.parent / "outside"
    inner.mkdir()
    outside.mkdir()
    house = House("bubblewrap", boxed.engine._choice().tool, str(boxed.data), (str(boxed.volume),), (), "")
    numbers = ("rank", "gpus", "shm_bytes", "cpus", "memory_bytes", "disk_bytes", "log_bytes")
    mounts = (MountPlan(str(inner), "/mnt/t", False),)
    plan = Plan(
        name="jo/1/0", hostname="w", env={}, command="", image="host", mounts=mounts, peers=(), house=house,
        **dict.fromkeys(numbers, 0),
    )  # fmt: skip
    layer = boxed.data / "layer"
    scratch.prepare(str(layer), plan._replace(command="touch /mnt/t/f; ls -l /proc/[0-9]*/fd; echo end"))
    box = bubblewrap.build(plan, {}, str(layer))
    inner.rename(boxed.volume / "moved")
    inner.symlink_to(outside)
    kept = keeper.start(box, str(layer))
    try:
        for fd, word in ((kept.echo, b"ready\n"), (kept.control, b"go\n")):
            os.write(fd, word)
        os.set_blocking(kept.output, True)
        said = b""
        while not said.endswith(b"end\n"):
            data = os.read(kept.output, 65536)
            assert data, said
            said += data
    finally:
        os.close(kept.life)
        os.waitpid(kept.pid, 0)
    assert (boxed.volume / "moved" / "f").exists(), said
    assert not list(outside.iterdir())
    assert str(boxed.data).encode() not in said, "a descriptor of the machine's is left in the sandbox"


def test_two_mounts_at_one_place_are_denied(stand):
    other = stand.data / "volumes" / "other"
    other.mkdir()
    mounts = [stand.mount("/mnt/t-same"), stand.mount("/mnt/t-same", source=other)]
    assert refusal(stand.run("echo ran", mounts=mounts))[0] == "/mnt/t-same"


def test_names_that_begin_alike_are_not_nested(stand):
    mounts = [stand.mount("/mnt/t-like"), stand.mount("/mnt/t-like-too")]
    assert stand.run("touch /mnt/t-like/f && test -f /mnt/t-like-too/f", mounts=mounts).exit_code == 0


@pytest.mark.parametrize(
    "target",
    ["/proc/self/root/mnt", "/proc/1/cwd", "/dev/fd/3", "/sys/x", "/usr", "/usr/t-x", "/opt/t-x", "/bin/t-x"],
)
def test_nothing_is_mounted_in_what_the_machine_lends(stand, target):
    look = stand.run("echo ran", mounts=[stand.mount(target)])
    assert refusal(look) == (target, "the system is there")


@pytest.mark.parametrize(
    "target", ["/", "//", "//mnt/t-x", "mnt/t-x", "", "/mnt/../etc", "/mnt/./t-x", "/mnt/t-x/", "/mnt/t\0x"]
)
def test_improper_targets_are_denied(stand, target):
    look = stand.run("echo ran", mounts=[stand.mount(target)])
    assert refusal(look) == (target, "it is no proper path")


def test_a_link_of_another_job_leads_no_mount_into_its_volume(bare, tmp_path):
    """Where mounts are links on the machine itself, a link of one job lies above another job's target."""
    outside, top = tmp_path / "outside", tmp_path / "top"
    outside.mkdir()
    key = bare.start(f"ln -s {outside} {top}/esc; echo up; sleep 60", mounts=[bare.mount(str(top))])
    bare.running(key, "up")
    for inner in ("esc/new", "new/new"):
        target = f"{top}/{inner}"
        assert refusal(bare.run("echo ran", mounts=[bare.mount(target)])) == (
            target, "a symbolic link leads there",
        )  # fmt: skip
    assert not list(outside.iterdir())
    assert [path.name for path in bare.volume.iterdir()] == ["esc"]


def test_why_a_link_cannot_be_made_is_told(bare, tmp_path):
    taken, file = tmp_path / "taken", tmp_path / "file"
    taken.mkdir()
    file.touch()
    assert refusal(bare.run("echo ran", mounts=[bare.mount(str(taken))])) == (
        str(taken), "something else is there",
    )  # fmt: skip
    target = f"{file}/below"
    assert refusal(bare.run("echo ran", mounts=[bare.mount(target)])) == (
        target, "this user cannot make the link",
    )  # fmt: skip
