"""The list before the button: what ticks itself, what needs a look, what only the sender can tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.utils.translation import override

from jobs.estimate import estimate
from jobs.findings import Finding, Level
from jobs.forms.checklist import (
    MISLAUNCHES,
    NOT_CHECKED_TO_ITS_END,
    POINTS,
    STARTS_ANEW,
    UNEVEN,
    Point,
    checklist,
)
from jobs.forms.points import HELP
from jobs.spec import EnvVar, MountSpec
from jobs.texts.checklist import POINTS as SENTENCES
from jobs.texts.checklist import TITLES, point_text
from jobs.texts.findings import FINDINGS
from tests.jobs.value_facts import facts, flavor, pool, spec

OK, ATTENTION, LATER, HAND = "ok", "attention", "later", "hand"
MNT = (MountSpec(1, "/mnt/public"),)
READ_ONLY = (MountSpec(2, "/mnt/data"),)


def points(request: Any, known: Any = None, unsure: Any = ()) -> dict[str, Point]:
    known = known or facts()
    judged = estimate(request, known)
    return {point.code: point for point in checklist(request, judged, known, unsure)}


def told(point: Point) -> tuple[str, str]:
    return str(point.standing), point.finding.code if point.finding else point.why


@pytest.mark.parametrize(
    ("code", "asked", "standing", "why"),
    [
        ("resources", {}, OK, "starts_now"),
        ("resources", {"worker_count": 99}, ATTENTION, "never_fits"),
        ("resources", {"spec": None}, LATER, "no_spec"),
        ("resources", {"name": ""}, OK, "starts_now"),  # what is missing elsewhere takes no GPU away
        ("workers", {}, OK, "one_worker"),
        ("workers", {"worker_count": 2}, ATTENTION, "single_with_several_workers"),
        ("workers", {"worker_count": 2, "framework": "pytorch_ddp"}, OK, "together"),
        ("workers", {"custom_gpus": 11, "framework": "pytorch_ddp"}, ATTENTION, "unequal_workers"),
        ("workers", {"spec": None}, LATER, "no_spec"),
        ("image", {}, OK, "offered"),
        ("code", {"command": ""}, LATER, "no_command"),
        ("code", {"command": "python train.py"}, ATTENTION, "script_in_workspace"),
        ("code", {"command": "python -m train"}, HAND, "no_code_path"),
        ("code", {"command": "python /mnt/public/train.py", "mounts": MNT}, OK, "on_volume"),
        ("code", {"command": "cat /mnt/data/list.txt", "mounts": READ_ONLY}, OK, "on_volume"),
        ("code", {"command": "cat /infini-data/a", "public_data": True}, OK, "on_volume"),
        (
            "code",
            {"command": "python /opt/code/t.py", "mounts": (MountSpec(1, "/opt/co"),)},
            HAND,
            "no_code_path",
        ),
        ("outputs", {"command": "python t.py --output_dir /mnt/public/o", "mounts": MNT}, OK, "kept"),
        ("outputs", {"env": (EnvVar("OUTPUT_DIR", "/mnt/public/o"),), "mounts": MNT}, OK, "kept"),
        ("outputs", {"command": "python t.py", "mounts": MNT}, HAND, "no_output_path"),
        ("outputs", {"command": "python t.py", "mounts": READ_ONLY}, ATTENTION, "all_read_only"),
        ("outputs", {"command": "python t.py"}, ATTENTION, "no_mounts"),
        ("failure", {"command": "python t.py"}, OK, "failure_shows"),
        ("failure", {"command": ""}, LATER, "no_command"),
        ("failure", {"command": "python t.py && ("}, HAND, "not_understood"),
        ("failure", {"command": ": " + "x" * 2**15}, HAND, "not_understood"),
        ("failure", {"command": "if true; then\npython t.py"}, HAND, "not_understood"),
        ("failure", {"command": "f() { a.py; b.py; c.py; }\n" + "f\n" * 3000}, HAND, "not_understood"),
        ("failure", {"command": "python t.py <<EOF &\n1\nEOF\nwait $!"}, OK, "failure_shows"),
        ("failure", {"mounts": MNT * 65}, ATTENTION, "too_many"),  # no second look was taken
        ("resume", {"mounts": MNT * 65, "auto_restart": True}, ATTENTION, "too_many"),
        ("distributed", {}, OK, "alone"),
        ("distributed", {"worker_count": 2}, ATTENTION, "no_framework"),
        (
            "distributed",
            {"worker_count": 2, "framework": "pytorch_ddp", "command": "python t.py"},
            HAND,
            "variables_unseen",
        ),
        (
            "distributed",
            {"worker_count": 2, "framework": "pytorch_ddp", "command": "python t.py --rank $RANK"},
            OK,
            "meets_by",
        ),
        (
            "distributed",
            {"worker_count": 2, "framework": "pytorch_ddp", "command": "python t.py --r $LOCAL_RANK"},
            HAND,
            "variables_unseen",
        ),
        ("distributed", {"command": "torchrun --nproc_per_node=8 t.py"}, ATTENTION, "nproc_not_gpus"),
        ("distributed", {"worker_count": 2, "framework": "pytorch_ddp", "command": ""}, LATER, "no_command"),
        ("code", {"command": "python /mnt/other/t.py", "mounts": MNT}, ATTENTION, "path_not_mounted"),
        ("code", {"command": "cat /mnt/other/t.py", "mounts": MNT}, ATTENTION, "path_lost"),
        ("outputs", {"command": "python t.py --output_dir /root/o", "mounts": MNT}, ATTENTION, "path_lost"),
        ("outputs", {"command": "mkdir /mnt/data/o", "mounts": READ_ONLY}, ATTENTION, "path_read_only"),
        ("resume", {}, HAND, "not_restarted"),
        ("resume", {"command": "python t.py", "auto_restart": True}, ATTENTION, "no_resume"),
        ("resume", {"command": "python t.py --resume auto", "auto_restart": True}, OK, "resumes"),
        ("trial", {}, HAND, "first_time"),
    ],
)
def test_a_point_and_how_it_stands(code: str, asked: dict[str, Any], standing: str, why: str) -> None:
    assert told(points(spec(**asked))[code]) == (standing, why)


def test_a_full_pool_is_told_with_the_place() -> None:
    full = facts(pool=pool(flavor((0, 0, 0, 0))))
    point = points(spec(), full)["resources"]
    assert told(point) == (ATTENTION, "queues")
    assert point.data == {"place": 1}


def test_an_image_that_is_not_offered_is_told_by_its_finding() -> None:
    point = points(spec(), facts(image=None))["image"]
    assert told(point) == (ATTENTION, "image_unknown")
    assert told(points(spec(image=None), facts(image=None))["image"]) == (LATER, "no_image")


@pytest.mark.parametrize(
    ("code", "finding"),
    [
        ("outputs", Finding("path_lost", "command", Level.WARNING, {"path": "/a"}, leans_on="mounts")),
        ("code", Finding("path_lost", "command", Level.HINT, {"path": "/a"}, leans_on="mounts")),
        ("code", Finding("public_data_off", "command", Level.WARNING, {"path": "/infini-data/a"})),
        ("failure", Finding("exit_pipe", "command", Level.WARNING, {"line": 1})),
    ],
)
def test_what_a_later_section_may_settle_is_left_open(code: str, finding: Finding) -> None:
    request, known = spec(command="true", mounts=MNT), facts()
    judged = replace(estimate(request, known), findings=(finding,))
    for unsure, expected in (([], (ATTENTION, finding.code)), ([finding], (LATER, "depends"))):
        found = {point.code: point for point in checklist(request, judged, known, unsure)}
        assert told(found[code]) == expected


def test_every_point_has_its_words_and_its_help() -> None:
    codes = [point.code for point in checklist(spec(), estimate(spec(), facts()), facts())]
    assert len(codes) == len(POINTS) == len(set(codes))
    assert set(codes) == set(TITLES) == set(HELP)


def test_the_findings_that_decide_exist() -> None:
    named = UNEVEN | MISLAUNCHES | STARTS_ANEW | NOT_CHECKED_TO_ITS_END
    assert sorted(named - set(FINDINGS)) == []


def test_every_sentence_can_be_filled() -> None:
    data = {
        "gpus": 8,
        "place": 2,
        "workers": 2,
        "framework": "pytorch_ddp",
        "image": "host",
        "path": "/mnt/a",
        "mount": "/mnt",
        "names": ["RANK", "torchrun"],
        "restarts": 1,
    }
    with override("en"):
        texts = {why: point_text(why, data) for why in SENTENCES}
    assert [why for why, text in texts.items() if "%(" in text] == []
    assert texts["meets_by"] == "The start command uses RANK, torchrun."
