"""Every rule of the fields: what breaks it, and what comes near and does not."""

from dataclasses import replace

import pytest

from jobs.facts import ImageFacts
from jobs.rules import check, normal_path
from jobs.spec import AlertAsked, EnvVar, MountSpec
from tests.jobs.value_facts import IMAGE, facts, flavor, pool, spec

ROCE = pool(flavor(network="roce"))
TWO_FLAVORS = pool(flavor(), flavor(pk=2))
DATA = pool(public_data="/data/public")
KIB = 2**10
TIMED = ("queued_too_long", "deploying_too_long")
TOLD = AlertAsked(("failed",), 1)


def found(request, given=None):
    return {(f.field, f.code) for f in check(request, given or facts()) if f.code != "no_mounts"}


def mounts(*paths):
    return spec(mounts=tuple(MountSpec(1, path) for path in paths))


def alert(channel, events=("failed",), minutes=None):
    return spec(alerts=(AlertAsked(events, channel, minutes),))


def env(*pairs):
    return spec(env=tuple(EnvVar(name, value) for name, value in pairs))


@pytest.mark.parametrize(
    ("request_", "given", "expected"),
    [
        (spec(team=None), facts(), ("team", "required")),
        (spec(team=2), facts(), ("team", "team_unknown")),
        (spec(pool=None), facts(pool=None), ("pool", "required")),
        (spec(), facts(pool=None), ("pool", "pool_unknown")),
        (spec(spec=None), facts(), ("spec", "required")),
        (spec(spec=99), facts(), ("spec", "spec_unknown")),
        (spec(worker_count=0), facts(), ("worker_count", "out_of_range")),
        (spec(worker_count=-1), facts(), ("worker_count", "out_of_range")),
        (spec(worker_count=1025), facts(), ("worker_count", "out_of_range")),
        (spec(worker_count=10**9), facts(), ("worker_count", "out_of_range")),
        (spec(flavor=1), facts(), ("flavor", "only_with_custom_gpus")),
        (spec(custom_gpus=0), facts(), ("custom_gpus", "out_of_range")),
        (spec(custom_gpus=8193), facts(), ("custom_gpus", "out_of_range")),
        (spec(custom_gpus=3, spec=1), facts(), ("spec", "excluded_by_custom_gpus")),
        (spec(custom_gpus=3, worker_count=1), facts(), ("worker_count", "excluded_by_custom_gpus")),
        (spec(custom_gpus=3), facts(pool=TWO_FLAVORS), ("flavor", "required")),
        (spec(custom_gpus=3, flavor=9), facts(pool=TWO_FLAVORS), ("flavor", "flavor_unknown")),
        (spec(custom_gpus=3), facts(pool=replace(pool(), flavors={})), ("flavor", "pool_without_nodes")),
        (spec(rdma=True, gpus=8), facts(), ("rdma", "rdma_needs_network")),
        (spec(rdma=True, gpus=4), facts(pool=ROCE), ("rdma", "rdma_needs_full_workers")),
        (spec(rdma=True, custom_gpus=12), facts(pool=ROCE), ("rdma", "rdma_needs_full_workers")),
        (spec(public_data=True), facts(), ("public_data", "public_data_not_offered")),
        (spec(image=None), facts(image=None), ("image", "required")),
        (spec(), facts(image=None), ("image", "image_unknown")),
        (
            spec(),
            facts(image=ImageFacts(IMAGE, "x", "", ("inference",), True)),
            ("image", "image_not_for_jobs"),
        ),
        (spec(), facts(image=ImageFacts(IMAGE, "x", "", ("job",), False)), ("image", "image_in_other_zone")),
        (spec(framework="mpi"), facts(), ("framework", "invalid_choice")),
        (spec(worker_count=2), facts(), ("framework", "single_with_several_workers")),
        (spec(custom_gpus=9), facts(), ("framework", "single_with_several_workers")),
        (spec(custom_gpus=9, framework="pytorch_ddp"), facts(), ("custom_gpus", "unequal_workers")),
        (spec(command=""), facts(), ("command", "required")),
        (spec(command=" \n\t"), facts(), ("command", "required")),
        (spec(command="x" * (256 * KIB + 1)), facts(), ("command", "too_long")),
        (spec(command="汉" * (90 * KIB)), facts(), ("command", "too_long")),
        (spec(command="a\0b"), facts(), ("command", "nul_character")),
        (env(("1A", "x")), facts(), ("env.0.name", "env_name")),
        (env(("B-C", "x")), facts(), ("env.0.name", "env_name")),
        (env(("A\n", "x")), facts(), ("env.0.name", "env_name")),
        (env(("", "x")), facts(), ("env.0.name", "env_name")),
        (env(("A", "1"), ("A", "2")), facts(), ("env.1.name", "env_duplicate")),
        (env(("TRAINYARD_X", "1")), facts(), ("env.0.name", "env_injected")),
        (env(("CUDA_VISIBLE_DEVICES", "1")), facts(), ("env.0.name", "env_injected")),
        (env(("A", "x" * (32 * KIB + 1))), facts(), ("env.0.value", "too_long")),
        (env(("A", "x\0")), facts(), ("env.0.value", "nul_character")),
        (env(*((f"A{i}", "") for i in range(201))), facts(), ("env", "too_many")),
        (env(*((f"A{i}", "x" * 32 * KIB) for i in range(8))), facts(), ("env", "too_long")),
        (spec(mounts=(MountSpec(9, "/mnt/a"),)), facts(), ("mounts.0.volume", "volume_unknown")),
        (spec(mounts=(MountSpec(2, "/mnt/a"),)), facts(), ("mounts.0.volume", "volume_in_other_zone")),
        (mounts("mnt/x"), facts(), ("mounts.0.mount_path", "mount_path_absolute")),
        (mounts(""), facts(), ("mounts.0.mount_path", "mount_path_absolute")),
        (mounts("/mnt/a\nb"), facts(), ("mounts.0.mount_path", "mount_path_absolute")),
        (mounts("/mnt/../etc"), facts(), ("mounts.0.mount_path", "mount_path_dots")),
        (mounts("/mnt/public", "/mnt/public/"), facts(), ("mounts.1.mount_path", "mount_path_duplicate")),
        (mounts("/mnt/public", "//mnt//public"), facts(), ("mounts.1.mount_path", "mount_path_duplicate")),
        (mounts("/mnt/a", "/mnt/a/b"), facts(), ("mounts.1.mount_path", "mount_path_nested")),
        (mounts("/mnt/a/b", "/mnt/a"), facts(), ("mounts.1.mount_path", "mount_path_nested")),
        (mounts("/mnt/" + "x" * 256), facts(), ("mounts.0.mount_path", "path_too_long")),
        (mounts("/mnt" + "/x" * 500), facts(), ("mounts.0.mount_path", "path_too_long")),
        (env(("SHLVL", "x")), facts(), ("env.0.name", "env_of_bash")),
        (spec(name="a\r\nSet-Cookie: b"), facts(), ("name", "control_character")),
        (spec(name="\u200b"), facts(), ("name", "required")),
        (spec(tags=("a\tb",)), facts(), ("tags.0", "control_character")),
        (spec(name=""), facts(), ("name", "required")),
        (spec(name="汉" * 129), facts(), ("name", "too_long")),
        (spec(description="x" * 2001), facts(), ("description", "too_long")),
        (spec(tags=("",)), facts(), ("tags.0", "required")),
        (spec(tags=("x" * 64,)), facts(), ("tags.0", "too_long")),
        (spec(tags=tuple(map(str, range(21)))), facts(), ("tags", "too_many")),
        (alert(9), facts(), ("alerts.0.channel", "channel_unknown")),
        (alert(2), facts(), ("alerts.0.channel", "channel_disabled")),
        (alert(1, ()), facts(), ("alerts.0.events", "required")),
        (alert(1, ("failed", "low_gpu_use")), facts(), ("alerts.0.events", "event_unknown")),
        (alert(1, ("failed",) * 14), facts(), ("alerts.0.events", "too_many")),
        (alert(1, TIMED[:1]), facts(), ("alerts.0.minutes", "required")),
        (alert(1, TIMED[:2], 5), facts(), ("alerts.0.events", "two_timed_events")),
        (alert(1, TIMED[:1], 0), facts(), ("alerts.0.minutes", "out_of_range")),
        (alert(1, TIMED[:1], 60 * 24 * 90 + 1), facts(), ("alerts.0.minutes", "out_of_range")),
        (alert(1, ("failed",), 5), facts(), ("alerts.0.minutes", "only_with_timed_event")),
        (spec(alerts=(TOLD,) * 21), facts(), ("alerts", "too_many")),
        (spec(priority="urgent"), facts(), ("priority", "invalid_choice")),
        (spec(priority="high"), facts(), ("priority", "priority_needs_right")),
        (spec(stop_grace_seconds=3601), facts(), ("stop_grace_seconds", "out_of_range")),
        (spec(keep_after_failure_minutes=-1), facts(), ("keep_after_failure_minutes", "out_of_range")),
        (spec(keep_after_failure_minutes=1441), facts(), ("keep_after_failure_minutes", "out_of_range")),
    ],
)
def test_what_breaks_a_rule(request_, given, expected):
    assert expected in found(request_, given)


RESERVED = (
    "/ /etc /etc/x /usr/local/x /lib64 /libexec/x /tmp/a /root /home /workspace /workspace/"
    " /infini-data /infini-data/x /var/lib/x /proc /dev/shm /opt"
)


@pytest.mark.parametrize("path", RESERVED.split())
def test_reserved_mount_paths(path):
    assert ("mounts.0.mount_path", "mount_path_reserved") in found(mounts(path))


@pytest.mark.parametrize(
    "path", ["/mnt/public", "/mnt/with blank/汉", "/home/alice", "/workspace/data", "/data", "/etcetera"]
)
def test_free_mount_paths(path):
    assert found(mounts(path)) == set()


@pytest.mark.parametrize(
    ("request_", "given"),
    [
        (spec(), facts()),
        (spec(worker_count=1024, framework="pytorch_ddp"), facts()),
        (spec(custom_gpus=8), facts()),
        (spec(custom_gpus=16, framework="pytorch_ddp"), facts()),
        (spec(custom_gpus=3, flavor=2), facts(pool=TWO_FLAVORS)),
        (spec(rdma=True, gpus=8), facts(pool=ROCE)),
        (spec(rdma=True, custom_gpus=16, framework="pytorch_ddp"), facts(pool=ROCE)),
        (spec(public_data=True), facts(pool=DATA)),
        (spec(command="x" * 256 * KIB), facts()),
        (env(("_a1", ""), ("RANK", "own in single")), facts()),
        (env(("A", "x" * 32 * KIB)), facts()),
        (spec(name="汉" * 128, description="汉" * 2000, tags=("x" * 63,)), facts()),
        (spec(priority="high"), facts(may_use_high_priority=True)),
        (spec(stop_grace_seconds=0), facts()),
        (spec(keep_after_failure_minutes=1440), facts()),
        (spec(alerts=tuple(AlertAsked(TIMED[:1], 1, n) for n in range(1, 21))), facts()),
        (alert(1, ("failed", "failed", "queued_too_long"), 60 * 24 * 90), facts()),
    ],
)
def test_what_breaks_none(request_, given):
    assert found(request_, given) == set()


def test_names_of_the_framework_are_refused_with_it():
    request = replace(env(("RANK", "1")), framework="pytorch_ddp")
    assert found(request) == {("env.0.name", "env_injected")}


def test_each_bad_piece_is_named():
    names = [
        f.data["name"]
        for f in check(env(("1A", "x"), ("B-C", "y"), ("OK", "z")), facts())
        if f.code == "env_name"
    ]
    assert names == ["1A", "B-C"]


def test_a_nested_mount_is_refused():
    """It would be made through what jobs have put into the outer volume, links included."""
    findings = check(mounts("/mnt/a", "/mnt/a/b"), facts())
    assert [(f.code, str(f.level)) for f in findings] == [("mount_path_nested", "error")]


def test_no_volume_is_a_warning():
    assert [(f.code, str(f.level)) for f in check(spec(), facts())] == [("no_mounts", "warning")]


@pytest.mark.parametrize(
    ("path", "normal"), [("/a//b/", "/a/b"), ("//a", "/a"), ("/", "/"), ("/a/./b", "/a/b")]
)
def test_normal_paths(path, normal):
    assert normal_path(path) == normal
