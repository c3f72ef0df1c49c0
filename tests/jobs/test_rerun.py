"""What a rerun asks for: the frozen request, a few changes, and what follows from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobs.findings import Finding
from jobs.rerun import Changes, Repeater, fields_of_rerun, in_words_of_rerun, rerun_of, unknown_private
from jobs.spec import EnvVar, JobSpec, MountSpec
from tests.jobs.value_facts import flavor, pool, spec

KEY = "jo-" + "a" * 16
ENV = (EnvVar("A", "1"), EnvVar("K", None, True), EnvVar("L", None, True))
KEPT = (ENV[0], EnvVar("K", None, True, KEY), EnvVar("L", None, True, KEY))
ASKED = spec(gpus=8, worker_count=2, rdma=True, env=ENV, tags=("x",))
ROCE = pool(flavor(network="roce"))
ANYBODY = Repeater(may_use_high=True)


def again(asked: JobSpec = ASKED, private: tuple[EnvVar, ...] = (), **fields: Any) -> Any:
    return rerun_of(asked, KEY, Changes(fields, private), ROCE, ANYBODY)


def test_a_plain_one_asks_for_the_same_and_refers_to_private_values() -> None:
    rerun = again()
    assert rerun.spec == replace(ASKED, env=KEPT)
    assert (rerun.follows, rerun.modified) == ((), False)


@pytest.mark.parametrize(
    ("fields", "becomes", "follows"),
    [
        ({"command": "false"}, {"command": "false"}, []),
        ({"image": 9}, {"image": 9}, []),
        ({"worker_count": 4}, {"worker_count": 4}, []),
        ({"spec": 3}, {"spec": 3, "rdma": False}, ["rdma_off"]),
        ({"spec": 4}, {"spec": 4}, []),
        ({"custom_gpus": 16}, {"custom_gpus": 16, "spec": None, "worker_count": None}, []),
        (
            {"custom_gpus": 12, "flavor": 1},
            {"custom_gpus": 12, "flavor": 1, "spec": None, "worker_count": None, "rdma": False},
            ["rdma_off"],
        ),
        ({"custom_gpus": 8, "spec": 4}, {"custom_gpus": 8, "spec": 4, "worker_count": None}, []),
        ({"custom_gpus": None}, {}, []),
        ({"hang_detection": True, "hang_timeout_seconds": 60}, {}, []),
    ],
)
def test_what_changes_and_what_follows(
    fields: dict[str, Any], becomes: dict[str, Any], follows: list[str]
) -> None:
    rerun = again(**fields)
    expected = fields | becomes
    assert rerun.spec == replace(ASKED, env=KEPT, **expected)
    assert [change.code for change in rerun.follows] == follows
    assert rerun.modified is (rerun.spec != replace(ASKED, env=KEPT))


CUSTOM = spec(custom_gpus=12, flavor=1)


@pytest.mark.parametrize(
    ("fields", "becomes"),
    [
        ({"spec": 4}, {"spec": 4, "custom_gpus": None, "flavor": None}),
        ({"spec": 4, "worker_count": 2}, {"spec": 4, "worker_count": 2, "custom_gpus": None, "flavor": None}),
        ({"custom_gpus": None}, {"custom_gpus": None, "flavor": None}),  # a spec is missing: the rules say so
        ({"custom_gpus": 4}, {"custom_gpus": 4}),
        ({"worker_count": 2}, {"worker_count": 2}),  # excluded: the rules say so
        ({"flavor": 2}, {"flavor": 2}),
    ],
)
def test_from_a_custom_count(fields: dict[str, Any], becomes: dict[str, Any]) -> None:
    assert again(CUSTOM, **fields).spec == replace(CUSTOM, **becomes)


def test_rdma_that_the_pool_lost_is_not_taken_out_in_silence() -> None:
    rerun = rerun_of(ASKED, KEY, Changes({"command": "x"}), pool(), ANYBODY)
    assert rerun.spec.rdma
    assert rerun_of(ASKED, KEY, Changes({"spec": 3}), None, ANYBODY).spec.rdma  # no pool: refused for that


def test_private_values_are_entered_one_by_one() -> None:
    rerun = again(private=(EnvVar("L", "mine", True),))
    assert rerun.spec.env == (*KEPT[:2], EnvVar("L", "mine", True))
    assert rerun.modified


def test_values_for_nothing_are_refused() -> None:
    private = tuple(EnvVar(name, "", True) for name in ("K", "A", "X", "K"))
    found = unknown_private(ASKED, private)
    assert [(f.code, f.field) for f in found] == [
        ("not_private_there", "private_env.1.name"),
        ("not_private_there", "private_env.2.name"),
        ("env_duplicate", "private_env.3.name"),
    ]


FROZEN: dict[str, Any] = {
    "pool": {"id": 1, "name": "north"},
    "flavor": {"id": 1, "name": "a100"},
    "spec": {"id": 4, "name": "8 GPU"},
    "image": {"id": 1, "reference": "host:1", "digest": ""},
    "mounts": [{"volume": 1, "name": "public"}, {"volume": 2, "name": "data"}],
}


@pytest.mark.parametrize(
    ("finding", "change", "name"),
    [
        (Finding("pool_unknown", "pool"), {}, "north"),
        (Finding("spec_unknown", "spec"), {}, "8 GPU"),
        (Finding("spec_unknown", "spec"), {"spec": 99}, None),
        (Finding("image_unknown", "image"), {}, "host:1"),
        (Finding("volume_unknown", "mounts.1.volume"), {}, "data"),
        (Finding("flavor_unknown", "flavor"), {}, "a100"),
        (Finding("required", "command"), {}, None),
    ],
)
def test_what_is_gone_has_its_name(finding: Finding, change: dict[str, Any], name: str | None) -> None:
    asked = replace(ASKED, mounts=(MountSpec(1, "/a"), MountSpec(2, "/b")))
    (told,) = in_words_of_rerun([finding], asked, replace(asked, **change), FROZEN)
    assert told.data.get("gone") == name


def test_fields_are_those_of_the_body() -> None:
    private = (EnvVar("L", "mine", True),)
    asked = again(private=private).spec
    fields = ("env.0.value", "env.1.from_job", "env.2.value", "env", "command", "mounts.0.volume")
    found = fields_of_rerun([Finding("x", field) for field in fields], asked, private)
    assert [f.field for f in found] == [
        "env.0.value",
        "private_env",
        "private_env.0.value",
        "private_env",
        "command",
        "mounts.0.volume",
    ]
    assert fields_of_rerun([Finding("x", "env")], asked, ())[0].field == "env"
